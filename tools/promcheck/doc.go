// Package promcheck has Prometheus' own code read the alert rules of the
// services, as promtool does, and plays series to them.
package promcheck
