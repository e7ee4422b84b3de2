// go-sql-driver/mysql: a connection that is held, and the pool of database/sql.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const insert = "INSERT INTO driven VALUES (UUID())"

var (
	pool  *sql.DB
	plain *sql.Conn
	ctx   = context.Background()
)

func open() *sql.DB {
	config := mysql.NewConfig()
	config.Net, config.User, config.DBName = "tcp", "client", "app"
	config.Addr = os.Getenv("DB_HOST") + ":" + os.Getenv("DB_PORT")
	config.Passwd, config.Timeout = os.Getenv("DB_PASSWORD"), 10*time.Second
	connector, err := mysql.NewConnector(config)
	if err != nil {
		panic(err)
	}
	return sql.OpenDB(connector)
}

func prepare() error {
	var err error
	if plain, err = open().Conn(ctx); err != nil {
		return err
	}
	if _, err = plain.ExecContext(ctx, "DO 1"); err != nil {
		return err
	}
	pool = open()
	_, err = pool.Exec("DO 1")
	return err
}

func once() error {
	db := open()
	defer db.Close()
	return db.Ping()
}

func codeOf(err error) string {
	var said *mysql.MySQLError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &said):
		return fmt.Sprint(said.Number)
	default:
		return strings.Split(fmt.Sprintf("%T", err), ".")[0]
	}
}

func main() {
	work := map[string]func() error{
		"prepare": prepare,
		"plain":   func() error { _, err := plain.ExecContext(ctx, insert); return err },
		"kept":    func() error { _, err := pool.Exec(insert); return err },
		"new":     once,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		began := time.Now()
		err := work[lines.Text()]()
		text := ""
		if err != nil {
			text = strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Printf("%s\t%s\t%d\t%s\n", lines.Text(), codeOf(err), time.Since(began).Milliseconds(), text)
	}
}
