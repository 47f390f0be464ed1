import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * What Java and Kafka make of names, asked for line by line; each answer is Base64, or "-" for an
 * exception. "name HEX": the text of a DER name. "map RULES NAME", both in Base64: what
 * ssl.principal.mapping.rules make of a distinguished name.
 */
public final class TlsPrincipals {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ", -1)));
        }
    }

    private static String answer(String[] asked) {
        try {
            if (asked[0].equals("name")) {
                return encoded(new X500Principal(HexFormat.of().parseHex(asked[1])).getName());
            }
            return encoded(SslPrincipalMapper.fromRules(decoded(asked[1])).getName(decoded(asked[2])));
        } catch (Exception error) {
            return "-";
        }
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }
}
