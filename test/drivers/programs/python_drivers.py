"""PyMySQL, mysql-connector-python or mysqlclient: one connection as it is, and one that is kept as its driver offers."""

import os
import sys
import time

driver = sys.argv[1]
login = dict(host=os.environ["DB_HOST"], port=int(os.environ["DB_PORT"]), user="client", database="app")
password = os.environ["DB_PASSWORD"]
insert = "INSERT INTO driven VALUES (UUID())"

if driver == "pymysql":
    import pymysql

    def connect():
        return pymysql.connect(password=password, connect_timeout=10, autocommit=True, **login)

    def borrow():
        kept.ping(reconnect=True)
        return kept

elif driver == "connector":
    import mysql.connector
    from mysql.connector import pooling

    def connect():
        return mysql.connector.connect(password=password, connection_timeout=10, autocommit=True, **login)

    def borrow():
        return kept.get_connection()

else:
    import MySQLdb

    def connect():
        return MySQLdb.connect(passwd=password, connect_timeout=10, autocommit=True, host=login["host"], port=login["port"], user="client", db="app")

    def borrow():
        global kept
        try:
            kept.ping()
        except MySQLdb.OperationalError:
            kept = connect()
        return kept


def execute(connection, statement):
    cursor = connection.cursor()
    cursor.execute(statement)
    if statement.startswith("SELECT"):
        cursor.fetchall()
    cursor.close()


def prepare():
    global plain, kept
    plain = connect()
    if driver == "connector":
        kept = pooling.MySQLConnectionPool(pool_name="kept", pool_size=1, password=password, connection_timeout=10, autocommit=True, **login)
        borrowed = kept.get_connection()
        execute(borrowed, "SELECT 1")
        borrowed.close()
    else:
        kept = connect()
        execute(kept, "SELECT 1")
    execute(plain, "SELECT 1")


def use_kept():
    borrowed = borrow()
    execute(borrowed, insert)
    if driver == "connector":
        borrowed.close()


work = {
    "prepare": prepare,
    "plain": lambda: execute(plain, insert),
    "kept": use_kept,
    "new": lambda: connect().close(),
}

for line in sys.stdin:
    what = line.strip()
    began = time.monotonic()
    code, text = "ok", ""
    try:
        work[what]()
    except Exception as error:
        code = getattr(error, "errno", None) or (error.args[0] if error.args and isinstance(error.args[0], int) else type(error).__name__)
        text = " ".join(str(error).split())
    print(what, code, round((time.monotonic() - began) * 1000), text, sep="\t", flush=True)
