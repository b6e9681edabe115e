// Package client is what the typed client of a machine and an engine have in common.
//
// A generated package has a Client with a method per event, made by its function In:
//
//	orders := order.In(shop) // shop is an *engine.Engine[pgx.Tx]
//	o, err := orders.Pay(ctx, id, order.Pay{Amount: 4200}, engine.Key("payment-77"))
//	o.Record.PaidAt
//
// [Engine] is the interface to what runs the machine. [Calls] and [Client] are the part
// of it that no machine changes.
package client
