package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// settings are the keys of a configuration file: what can be set in the environment. REDLOCK_MAX_LEASE
// is max_lease there.
//
// The file is TOML, which has comments and lists and is not as forgiving as YAML, where an unquoted
// value may turn out to be a number or a time. go-toml is kept up, needs no other module, and says on
// which line a key stands that it does not know.
type settings struct {
	Masters      *[]string `toml:"masters"`
	Username     *string   `toml:"username"`
	Password     *string   `toml:"password"`
	PasswordFile *string   `toml:"password_file"`
	TLSCA        *string   `toml:"tls_ca"`
	TLSCert      *string   `toml:"tls_cert"`
	TLSKey       *string   `toml:"tls_key"`
	TLSServer    *string   `toml:"tls_server_name"`
	NodeTimeout  *literal  `toml:"node_timeout"`
	MaxLease     *literal  `toml:"max_lease"`
	RestartGuard *literal  `toml:"restart_guard"`
	Name         *names    `toml:"name"`
	Lease        *literal  `toml:"lease"`
	Wait         *literal  `toml:"wait"`
	Grace        *literal  `toml:"grace"`
	Prefix       *string   `toml:"prefix"`
	ClientName   *string   `toml:"client_name"`
	Verbose      *bool     `toml:"verbose"`
}

// names are one name or a list of them.
type names []string

// UnmarshalText takes a name that is no list.
func (n *names) UnmarshalText(text []byte) error {
	*n = names{string(text)}
	return nil
}

// literal is text, or a number without quotes, which the flag refuses better than TOML would.
type literal string

// UnmarshalText keeps the text.
func (l *literal) UnmarshalText(text []byte) error {
	*l = literal(text)
	return nil
}

// configFile is what the file that --config names says.
type configFile struct {
	path   string
	loaded bool
	values map[string]string // by the name of the flag
	err    error             // why it could not be used
}

// resolve returns what the file says of flag, unless the environment says something.
func (c *configFile) resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if len(flag.Envs) == 0 || flag.Name == "config" {
		return nil, nil // --name of inspect, for example, is not that of run
	}
	for _, variable := range flag.Envs {
		if _, set := os.LookupEnv(variable); set {
			return nil, nil
		}
	}
	if !c.loaded {
		c.loaded = true
		if c.path = configPath(ctx); c.path != "" {
			c.values, c.err = readConfig(c.path)
		}
	}
	text, ok := c.values[flag.Name]
	if !ok {
		return nil, nil
	}
	if isFile(flag) && text != "" && !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(c.path), text)
	}
	return text, nil
}

// isFile reports whether the flag's value is a path. In a configuration file it is relative to that.
func isFile(flag *kong.Flag) bool { return flag.Tag.Get("predictor") == "file" }

// configPath returns which file to read, if any.
func configPath(ctx *kong.Context) string {
	for _, element := range ctx.Path {
		if element.Flag != nil && element.Flag.Name == "config" {
			path, _ := ctx.FlagValue(element.Flag).(string)
			return path
		}
	}
	return os.Getenv("REDLOCK_CONFIG")
}

// readConfig reads a file, and returns its entries by the names of the flags.
func readConfig(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all settings
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&all); err != nil {
		return nil, whereWrong(path, err)
	}
	values := make(map[string]string)
	fields := reflect.ValueOf(all)
	for i := range fields.NumField() {
		if fields.Field(i).IsNil() {
			continue
		}
		key := fields.Type().Field(i).Tag.Get("toml")
		text := ""
		switch value := fields.Field(i).Elem().Interface().(type) {
		case []string:
			text = kong.JoinEscaped(value, ',')
		case names:
			if !slices.Contains(value, "") { // one of no text, otherwise, which is refused
				text = kong.JoinEscaped(value, '\n')
			}
		default:
			text = fmt.Sprint(value)
		}
		values[strings.ReplaceAll(key, "_", "-")] = text
	}
	return values, nil
}

// whereWrong says on which line of the file something is wrong, and what.
func whereWrong(path string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		first := unknown.Errors[0]
		row, _ := first.Position()
		return fmt.Errorf("%s:%d: there is no setting %q (redlock help config lists them)", path, row, strings.Join(first.Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := wrong.Position()
		reason := strings.TrimPrefix(wrong.Error(), "toml: ")
		if kind, ok := strings.CutPrefix(reason, "cannot decode TOML "); ok {
			kind, _, _ = strings.Cut(kind, " ")
			reason = "it cannot be a TOML " + kind + " (redlock help config has an example)"
		}
		if key := strings.Join(wrong.Key(), "."); key != "" {
			reason = key + ": " + reason
		}
		return fmt.Errorf("%s:%d: %s", path, row, reason)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// exposed returns a warning for each file with a password that everybody on this machine can read.
func (c *configFile) exposed(parsed *kong.Context) (warnings []string) {
	var files []string
	if c.values["password"] != "" || strings.Contains(c.values["masters"], "@") {
		files = append(files, c.path)
	}
	for _, flag := range parsed.Flags() {
		if file, _ := parsed.FlagValue(flag).(string); flag.Name == "password-file" && file != "" {
			files = append(files, file)
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" { // whose permissions are not in the mode
			warnings = append(warnings, fmt.Sprintf("everybody on this machine can read the password in %s: chmod o-r %s", file, file))
		}
	}
	return warnings
}

// origins has the name to use for each flag in an error, by where its value came from: "--lease" for
// the command line, "REDLOCK_LEASE" for the environment, "redlock.toml: lease" for a configuration file.
type origins map[string]string

func originsOf(parsed *kong.Context, file *configFile) origins {
	from := make(origins)
	for _, flag := range parsed.Flags() {
		from[flag.Name] = "--" + flag.Name
		if _, ok := file.values[flag.Name]; ok {
			from[flag.Name] = file.path + ": " + strings.ReplaceAll(flag.Name, "-", "_")
		}
		for _, variable := range flag.Envs {
			if _, set := os.LookupEnv(variable); set {
				from[flag.Name] = variable
			}
		}
	}
	for _, element := range parsed.Path {
		if element.Flag != nil && !element.Resolved {
			from[element.Flag.Name] = "--" + element.Flag.Name
		}
	}
	return from
}

// onLine reports whether the flag's value is from the command line or is its default.
func (from origins) onLine(flag string) bool { return from[flag] == "--"+flag }

// rank is higher for a value that wins: 2 on the command line, 1 in the environment, 0 in a file.
func (from origins) rank(flag string) int {
	switch {
	case from.onLine(flag):
		return 2
	case strings.HasPrefix(from[flag], "REDLOCK_"):
		return 1
	}
	return 0
}
