import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's tools in this process, one after the other: one JSON object a line in, one out. A Java
 * that has run one of them runs the next in a twentieth of the time.
 *
 * <p>In: "main" (a class), "args", "stdin", and "properties", system properties that stay. Out:
 * "status", "stdout" and "stderr". Ends with its input, whatever runs.
 */
public final class ToolServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Standard streams are looked up once by some, so these stay, and what is behind them changes. */
    private static final ByteArrayOutputStream OUT = new ByteArrayOutputStream();

    private static final ByteArrayOutputStream ERR = new ByteArrayOutputStream();
    private static volatile InputStream in = InputStream.nullInputStream();
    private static volatile Integer status;

    /** What the tool had printed when it called exit: what it prints of that is nobody's business. */
    private static volatile String out;

    private static volatile String err;
    private static final List<Runnable> HOOKS = new ArrayList<>();

    private ToolServer() {}

    /** A tool has called exit. It is an error, since tools catch exceptions. */
    private static final class Ended extends Error {
        Ended() {
            super("ended", null, false, false);
        }
    }

    public static void main(String[] args) throws Exception {
        var answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BlockingQueue<String> asked = questions(System.in);
        System.setIn(new Behind());
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        while (true) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(asked.take()))));
        }
    }

    private static BlockingQueue<String> questions(InputStream from) {
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        var reader = new BufferedReader(new InputStreamReader(from, StandardCharsets.UTF_8));
        Thread thread = new Thread(() -> {
            try {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    asked.add(line);
                }
            } catch (IOException ignored) {
                // As good as the end.
            }
            Runtime.getRuntime().halt(0);
        });
        thread.setDaemon(true);
        thread.start();
        return asked;
    }

    private static ObjectNode answer(JsonNode asked) throws ReflectiveOperationException {
        asked.get("properties").properties().forEach(
                each -> System.setProperty(each.getKey(), each.getValue().asText()));
        forget();
        HOOKS.clear();
        status = null;
        in = new ByteArrayInputStream(asked.get("stdin").asText().getBytes(StandardCharsets.UTF_8));
        List<String> args = new ArrayList<>();
        asked.get("args").forEach(each -> args.add(each.asText()));
        run(asked.get("main").asText(), args.toArray(new String[0]));
        ObjectNode answer = JSON.createObjectNode();
        answer.put("status", status);
        answer.put("stdout", out + OUT.toString(StandardCharsets.UTF_8));
        answer.put("stderr", err + ERR.toString(StandardCharsets.UTF_8));
        return answer;
    }

    private static void run(String main, String[] args) throws ReflectiveOperationException {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) args);
            note(0);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                thrown.getCause().printStackTrace();
            }
            note(1);
        }
        forget();
        for (Runnable hook : HOOKS) {
            try {
                hook.run();
            } catch (RuntimeException | Ended ignored) {
                // The process would have ended all the same.
            }
        }
    }

    private static void end(int code) {
        note(code);
        throw new Ended();
    }

    /** The tool ends with this status, unless it has ended already. */
    private static synchronized void note(int code) {
        if (status == null) {
            status = code;
            out = OUT.toString(StandardCharsets.UTF_8);
            err = ERR.toString(StandardCharsets.UTF_8);
        }
    }

    private static void forget() {
        OUT.reset();
        ERR.reset();
    }

    /** The standard input of the tool that runs. */
    private static final class Behind extends InputStream {
        @Override
        public int read() throws IOException {
            return in.read();
        }

        @Override
        public int read(byte[] bytes, int start, int length) throws IOException {
            return in.read(bytes, start, length);
        }

        @Override
        public int available() throws IOException {
            return in.available();
        }
    }
}
