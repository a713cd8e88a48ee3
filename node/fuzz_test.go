package node

import (
	"testing"
	"time"
)

// FuzzIdentify: a master that tells no age is never an old one.
func FuzzIdentify(f *testing.F) {
	for _, info := range []string{
		"",
		"# Server\r\nrun_id:abc\r\nuptime_in_seconds:12\r\nrole:master\r\nloading:0\r\n",
		"run_id:abc\nuptime_in_seconds:-12",
		"run_id:abc\nuptime_in_seconds:99999999999999999999",
		"run_id:abc\nuptime_in_seconds:9223372036854775807",
		"run_id:abc\nuptime_in_seconds:9223372037",
		"run_id\nrole:\n:::\n",
	} {
		f.Add([]byte(info))
	}
	f.Fuzz(func(t *testing.T, info []byte) {
		id := identify(info)
		if id.uptime < 0 || id.uptime > 100*365*24*time.Hour {
			t.Errorf("identify(%q): got uptime %v", info, id.uptime)
		}
		if id.err == nil && id.run == "" {
			t.Errorf("identify(%q): got no run id and no error", info)
		}
	})
}
