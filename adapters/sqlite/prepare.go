package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// mostPrepared is how many statements a connection keeps prepared: about as many as a dozen
// machines need. Callers that put values into the text of statements could need any number.
const mostPrepared = 500

// connector opens connections that keep their statements prepared. When SQLite prepares a
// statement that writes, it parses the triggers of the table, which takes several times as long
// as the write.
type connector struct {
	driver.Connector
	here  func() error // returns ErrGone if the file is not the one that was opened
	setup []string     // statements that a new connection runs
}

// Connect implements driver.Connector. It returns ErrGone if the file is not the one that was
// opened.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.here(); err != nil {
		return nil, err
	}
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := opened.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connection is a %T, which lacks a method", opened), opened.Close())
	}
	for _, statement := range c.setup {
		if _, err := inner.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), inner.Close())
		}
	}
	return &conn{driverConn: inner, prepared: map[string]*prepared{}}, nil
}

// driverConn is what database/sql uses of the driver's connection.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// driverStmt is what database/sql uses of the driver's statements.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// conn is a connection that keeps statements with parameters prepared. Statements without
// parameters usually run once. database/sql lets only one goroutine use it at a time.
type conn struct {
	driverConn
	prepared map[string]*prepared
}

// prepared is a statement that conn keeps.
type prepared struct {
	driverStmt
	reading bool // its rows are open, so it can't be run again
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	p, err := c.prepare(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	return p.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, err := c.prepare(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return c.driverConn.QueryContext(ctx, query, args)
	}
	opened, err := p.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	r, ok := opened.(driverRows)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's rows are a %T, which lacks a method", opened), opened.Close())
	}
	p.reading = true
	return &rows{driverRows: r, of: p}, nil
}

// Close closes the connection and its prepared statements.
func (c *conn) Close() error {
	return errors.Join(c.forget(), c.driverConn.Close())
}

// prepare returns a prepared statement that can run now. It returns nil if conn does not keep the
// statement, or if its rows are open.
func (c *conn) prepare(ctx context.Context, query string, args []driver.NamedValue) (*prepared, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if p := c.prepared[query]; p != nil {
		if p.reading {
			return nil, nil
		}
		return p, nil
	}
	if len(c.prepared) >= mostPrepared {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := made.(driverStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's statement is a %T, which lacks a method", made), made.Close())
	}
	p := &prepared{driverStmt: s}
	c.prepared[query] = p
	return p, nil
}

// forget closes the prepared statements without open rows.
func (c *conn) forget() error {
	var errs []error
	for query, p := range c.prepared {
		if !p.reading {
			errs = append(errs, p.Close())
			delete(c.prepared, query)
		}
	}
	return errors.Join(errs...)
}

// driverRows is what database/sql uses of the driver's rows.
type driverRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// rows are the rows of a prepared statement.
type rows struct {
	driverRows
	of *prepared
}

// Close implements driver.Rows. The statement can be run again afterwards.
func (r *rows) Close() error {
	r.of.reading = false
	return r.driverRows.Close()
}
