package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// answerTime is how long connecting may take, and how long the server may be silent, unless
// the URL says otherwise (connect_timeout).
const answerTime = 3 * time.Second

// A Server is a database that a URL names.
type Server struct {
	// Write has one connection, and Read several. Beside has one for statements that change
	// something and wait for no transaction of Write.
	Write, Read, Beside *sql.DB
	cfg                 *pgx.ConnConfig
}

// Open returns the database of a URL, postgres://USER:PASSWORD@HOST/DATABASE. It does not
// connect yet.
func Open(url string, readers int) (*Server, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil || !strings.HasPrefix(url, "postgres://") {
		// The error of pgx repeats the URL, in which a password may be.
		return nil, ErrURL
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, answerTime)
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "weir"
	}
	s := &server{cfg: cfg, silence: cfg.ConnectTimeout}
	watched := cfg.Copy()
	watched.DialFunc = s.dial
	open := func(conns int, writes bool) *sql.DB {
		db := sql.OpenDB(connector{stdlib.GetConnector(*watched), writes})
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db
	}
	return &Server{open(1, true), open(readers, false), open(1, false), cfg}, nil
}

// ErrURL is the error of a text that names no database.
var ErrURL = errors.New("the URL is not valid")

type connector struct {
	driver.Connector
	writes bool
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner := opened.(*stdlib.Conn) // as package stdlib promises
	own := &conn{Conn: inner, writes: c.writes}
	if err := c.begin(ctx, inner.Conn(), &own.lock); err != nil {
		inner.Close()
		return nil, err
	}
	return own, nil
}

// begin asks for the server's process, which is not that of a pooler.
func (c connector) begin(ctx context.Context, conn *pgx.Conn, lock *string) error {
	limit, plans := "0", ""
	if c.writes {
		limit = idleAtMost // a process that is frozen in a transaction keeps the others for no longer
		// Planning takes longer than what these statements do: they find rows by their keys. They do
		// so also when a plan was made while the table was small.
		plans = " || set_config('plan_cache_mode', 'force_generic_plan', false) || set_config('enable_seqscan', 'off', false) || set_config('jit', 'off', false)"
	}
	var process, key int64
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid(), set_config('"+idleLimit+"', $1, false)"+plans+", "+Key, pgx.QueryExecModeExec, limit).Scan(&process, new(string), &key); err != nil {
		return err
	}
	*lock = "SELECT pg_advisory_xact_lock(" + strconv.FormatInt(key, 10) + ")"
	plain := conn.PgConn().Conn()
	if encrypted, ok := plain.(*tls.Conn); ok {
		plain = encrypted.NetConn()
	}
	if w, ok := plain.(*watched); ok {
		w.process.Store(process)
	}
	return nil
}

// A conn is a connection that takes the statements of SQLite.
type conn struct {
	*stdlib.Conn
	writes bool
	// lock begins each transaction that writes: one runs at a time, whatever the process, so
	// that what it has read stays true until its end, as in SQLite.
	lock string
	// tx is the transaction whose statements wait to be sent, nil without one.
	tx *pipeline
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.Conn.PrepareContext(ctx, numbered(query))
	if err != nil {
		return nil, err
	}
	return stmt{inner.(*stdlib.Stmt), c, numbered(query)}, nil // as package stdlib promises
}

// ExecContext implements driver.ExecerContext. A text without arguments may have several
// statements.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		query = numbered(query)
	}
	if err := c.tx.flush(); err != nil {
		return nil, err
	}
	if err := c.patient(ctx, size(args)); err != nil {
		return nil, err
	}
	return c.Conn.ExecContext(ctx, query, args)
}

// patient lets the server wait longer for the next statement of a transaction, which may take
// long on its way: an unfinished one is silence.
func (c *conn) patient(ctx context.Context, size int) error {
	if !c.writes || size < 64<<10 || c.Conn.Conn().PgConn().TxStatus() == inNoTransaction {
		return nil
	}
	_, err := c.Conn.Conn().Exec(ctx, "SELECT set_config('"+idleLimit+"', '60s', true) WHERE current_setting('"+idleLimit+"') = '"+idleAtMost+"'")
	return err
}

const (
	idleLimit  = "idle_in_transaction_session_timeout"
	idleAtMost = "2s" // for a transaction that writes
)

// size returns the size of arguments in bytes, about.
func size(args []driver.NamedValue) (n int) {
	for _, a := range args {
		switch v := a.Value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) > 0 {
		query = numbered(query)
	}
	return c.rows(ctx, func(ctx context.Context) (driver.Rows, error) { return c.Conn.QueryContext(ctx, query, args) })
}

func (c *conn) rows(ctx context.Context, query func(context.Context) (driver.Rows, error)) (driver.Rows, error) {
	if err := c.tx.flush(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	inner, err := query(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &rows{Rows: inner, cancel: cancel, conn: c.Conn.Conn().PgConn()}, nil
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	if text, ok := v.Value.(string); ok {
		v.Value = escape(text)
	}
	return nil
}

type stmt struct {
	*stdlib.Stmt
	conn  *conn
	query string
}

// ExecContext implements driver.StmtExecContext.
func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.conn.tx == nil {
		if err := s.conn.patient(ctx, size(args)); err != nil {
			return nil, err
		}
		return s.Stmt.ExecContext(ctx, args)
	}
	return s.conn.tx.add(s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.rows(ctx, func(ctx context.Context) (driver.Rows, error) { return s.Stmt.QueryContext(ctx, args) })
}

// inNoTransaction is the server's state of a connection.
const inNoTransaction = 'I'

// rows are rows whose texts are restored.
type rows struct {
	driver.Rows
	cancel context.CancelFunc
	conn   *pgconn.PgConn
	ended  bool
}

// Close implements driver.Rows. Rows that are not read may be gigabytes: they are not
// fetched, which ends the connection, unless a transaction needs it.
func (r *rows) Close() error {
	defer r.cancel()
	if !r.ended && r.conn.TxStatus() == inNoTransaction && r.Rows.Next(make([]driver.Value, len(r.Columns()))) == nil {
		r.cancel()
		_ = r.Rows.Close() // it says that it was cancelled
		return nil
	}
	return r.Rows.Close()
}

// Next implements driver.Rows.
func (r *rows) Next(to []driver.Value) error {
	if err := r.Rows.Next(to); err != nil {
		r.ended = true
		return err
	}
	for i, v := range to {
		if text, ok := v.(string); ok && strings.Contains(text, mark) {
			to[i] = unescape(text)
		}
	}
	return nil
}

// A Fault is what a failed statement means.
type Fault int

// The faults.
const (
	Other       Fault = iota
	Unreachable       // there is no connection, or it broke
	Full              // the disk is full, or the database may not be written
	Zero              // a statement divided by zero
)

const (
	tooMany = "53300" // the server has no connection to spare
	idle    = "25P03" // this process was frozen in a transaction, which the server has ended
)

// FaultOf returns what an error of this database means; ok is false for other errors.
func FaultOf(err error) (f Fault, ok bool) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch class := pg.Code[:min(2, len(pg.Code))]; {
		case pg.Code == "57014": // the statement took longer than the server allows
		case class == "08" || class == "28" || class == "57" || pg.Code == tooMany || pg.Code == idle: // 28: the login is refused
			return Unreachable, true
		case class == "53" || pg.Code == "25006":
			return Full, true
		case pg.Code == "22012":
			return Zero, true
		}
		return Other, true
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[net.Error](err)
	_, ofFile := errors.AsType[*fs.PathError](err) // it has the methods of a net.Error in it
	if unconnected || broken && !ofFile || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) {
		return Unreachable, true
	}
	return Other, false
}

// Taken returns the unique index that has the values of a row already; empty: the error is
// another one.
func Taken(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return pg.ConstraintName
	}
	return ""
}

// Deadlock reports whether the server ended a transaction as it waited for another one, which
// waited for it.
func Deadlock(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "40P01"
}
