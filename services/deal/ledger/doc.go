// Package ledger keeps the books of deals: double entry, in the database that has the deals
// (document 003, Payment Transitions).
//
// A line moves an amount from one account to another, so what an entry debits and what it
// credits are always the same. The database refuses a line that changes or goes away, an amount
// below one nano, and one that overdraws an account which can't owe: see the migrations. An entry
// is known by its deal and its cause: posting it again changes nothing.
//
// Amounts are in nano, 1 TON = 1,000,000,000 nano. Jettons have other units and no place here.
package ledger
