package main

import (
	"fmt"
	"io"
	"strings"
)

type helpCmd struct {
	Topic string `arg:"" optional:"" help:"A command, or one of: config, exit-codes."`
}

// Run prints what is known of the topic.
func (h *helpCmd) Run(std streams) error {
	switch h.Topic {
	case "exit-codes":
		return printExitCodes(std.out)
	case "config":
		_, err := io.WriteString(std.out, configTopic)
		return err
	}
	args := []string{"--help"}
	if h.Topic != "" {
		args = []string{h.Topic, "--help"}
	}
	code, err := dispatch(args, std, std.out)
	if err != nil {
		return fail(code, "there is no help on %q; see redlock help", h.Topic)
	}
	return nil
}

// configTopic is the text of redlock help config.
const configTopic = `Settings can be in a file that --config or REDLOCK_CONFIG names (TOML):

  masters = ["rediss://m1:6379", "rediss://m2:6379", "rediss://m3:6379"]
  username = "locks"                    # for masters whose URL has no user
  password_file = "password"            # or password = "…"
  tls_ca = "ca.pem"
  tls_cert = "client.pem"
  tls_key = "client.key"
  tls_server_name = "redis.example.com"
  node_timeout = "200ms"
  max_lease = "30s"
  restart_guard = "30s"                 # or "off"
  name = "nightly"                      # or ["account:3", "account:7"]
  lease = "30s"
  wait = "1m"
  grace = "5s"
  client_name = "reports"               # what others see as the holder
  verbose = false

  password = "…" takes the place of password_file

Each key is a flag of that name, and is used by the commands that have the flag.
Flags win over the environment, and that over the file. Paths are relative to
the file. A key that redlock does not know is an error.
`

// printExitCodes prints what each exit code means, for each command.
func printExitCodes(out io.Writer) error {
	var text strings.Builder
	text.WriteString("Exit codes:\n")
	for _, e := range exitCodes {
		who := ""
		if e.of != "" {
			who = e.of + ": "
		}
		writeExit(&text, e, who+e.means)
	}
	text.WriteString("\nThe command of redlock run may end with the same codes. Whenever redlock itself\n" +
		"has a reason for a code from 64 on, it says so on stderr.\n")
	_, err := io.WriteString(out, text.String())
	return err
}

// exitSection returns what the exit codes of one command mean. Commands that ask masters share some.
func exitSection(command string, asks bool) string {
	var own []meaning // one for each code
	for _, e := range exitCodes {
		if (e.of != "" || !asks) && !strings.Contains(" "+strings.ReplaceAll(e.of, ",", "")+" ", " "+command+" ") {
			continue
		}
		if last := len(own) - 1; last >= 0 && own[last].code == e.code && !own[last].own {
			own[last].means += "; " + e.means
			continue
		}
		own = append(own, e)
	}
	if len(own) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\nExit codes:\n")
	for _, e := range own {
		writeExit(&text, e, e.means)
	}
	return text.String()
}

// writeExit writes a line, or more if 80 columns are too few.
func writeExit(text *strings.Builder, e meaning, means string) {
	code := fmt.Sprint(e.code)
	if e.code == exitSignal {
		code = "128+n"
	}
	if e.own {
		code = "*"
	}
	for i, part := range wrap(means, columns-9) {
		if i > 0 {
			code = ""
		}
		fmt.Fprintf(text, "  %5s  %s\n", code, part)
	}
}

// wrap breaks text into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
