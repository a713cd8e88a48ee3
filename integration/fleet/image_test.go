package fleet

import (
	"strings"
	"testing"
)

// A pull that fails says what to do instead. Nobody listens on that port.
func TestPullFails(t *testing.T) {
	err := pull(machine.docker.Client, imageName{"127.0.0.1:1/redis", "7"})
	for _, part := range []string{"pulling 127.0.0.1:1/redis:7", "install redis-server", imageVariable} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("pull = %v, want %q in it", err, part)
		}
	}
}

func TestNoEngine(t *testing.T) {
	_, err := connect("unix:///no/such/docker.sock")
	for _, part := range []string{"cannot reach Docker", "DOCKER_HOST"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("connect = %v, want %q in it", err, part)
		}
	}
}

// An image is named by its repository, which may be on a host with a port.
func TestImageNames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		want   imageName
		server string
	}{
		{"redis", imageName{"redis", "latest"}, "redis-server"},
		{"localhost:5000/redis:8", imageName{"localhost:5000/redis", "8"}, "redis-server"},
		{"valkey/valkey:8.1", imageName{"valkey/valkey", "8.1"}, "valkey-server"},
		{"localhost:5000/valkey-bundle", imageName{"localhost:5000/valkey-bundle", "latest"}, "valkey-server"},
		{"redlock-test/redis:local", builtImage, "redis-server"},
	} {
		if got := parseImage(tt.name); got != tt.want || got.server() != tt.server {
			t.Errorf("parseImage(%q) = %v with %s, want %v with %s", tt.name, got, got.server(), tt.want, tt.server)
		}
	}
}
