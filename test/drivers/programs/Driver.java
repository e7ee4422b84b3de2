// Connector/J: a connection as it is, and one that is asked for `isValid` before it is used, as pools do.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

public class Driver {
    static final String insert = "INSERT INTO driven VALUES (UUID())";
    static Connection plain;
    static Connection kept;

    static Connection connect() throws SQLException {
        String url = "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT")
            + "/app?connectTimeout=10000&allowPublicKeyRetrieval=true&sslMode=PREFERRED";
        return DriverManager.getConnection(url, "client", System.getenv("DB_PASSWORD"));
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    static void work(String what) throws SQLException {
        switch (what) {
            case "prepare" -> {
                plain = connect();
                kept = connect();
                execute(plain, "SELECT 1");
                execute(kept, "SELECT 1");
            }
            case "plain" -> execute(plain, insert);
            case "kept" -> {
                if (!kept.isValid(1)) kept = connect();
                execute(kept, insert);
            }
            default -> connect().close();
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String what; (what = lines.readLine()) != null; ) {
            long began = System.nanoTime();
            String code = "ok";
            String text = "";
            try {
                work(what);
            } catch (SQLException error) {
                code = error.getErrorCode() == 0 ? error.getSQLState() : String.valueOf(error.getErrorCode());
                text = error.getMessage().replaceAll("\\s+", " ");
            }
            System.out.println(what + "\t" + code + "\t" + (System.nanoTime() - began) / 1_000_000 + "\t" + text);
        }
    }
}
