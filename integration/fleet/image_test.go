package fleet

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The masters' image depends on what is available on the machine.
func TestImagePlan(t *testing.T) {
	cannot := errors.New("no redis-server of darwin runs in a container")
	named := imageName{"registry.local:5000/redis", "8"}
	for _, c := range []struct {
		name        string
		variable    string
		there       []imageName
		cannotBuild error
		want        []imageStep
	}{
		{
			name:     "a variable",
			variable: "registry.local:5000/redis:8", there: []imageName{builtImage, stockImage},
			want: []imageStep{{pullImage, named}},
		},
		{
			name:     "a variable, and its image",
			variable: "registry.local:5000/redis:8", there: []imageName{named}, cannotBuild: cannot,
			want: []imageStep{{useImage, named}},
		},
		{
			name: "an image of an earlier run", there: []imageName{builtImage, stockImage},
			want: []imageStep{{useImage, builtImage}},
		},
		{
			name: "redis-server, or root and apt-get",
			want: []imageStep{{buildTheImage, builtImage}, {pullImage, stockImage}},
		},
		{
			name: "redis-server and a stock image", there: []imageName{stockImage},
			want: []imageStep{{buildTheImage, builtImage}, {useImage, stockImage}},
		},
		{
			name: "neither redis-server nor an image", cannotBuild: cannot,
			want: []imageStep{{pullImage, stockImage}},
		},
		{
			name: "a stock image only", there: []imageName{stockImage}, cannotBuild: cannot,
			want: []imageStep{{useImage, stockImage}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			there := func(image imageName) bool { return slices.Contains(c.there, image) }
			if got := imagePlan(c.variable, there, c.cannotBuild); !slices.Equal(got, c.want) {
				t.Errorf("imagePlan = %v, want %v", got, c.want)
			}
		})
	}
}

func TestBuildable(t *testing.T) {
	for _, c := range []struct {
		name, goos, server string
		canInstall         bool
		says               string // "" where an image can be built
	}{
		{"linux with redis", "linux", "/usr/bin/redis-server", false, ""},
		{"linux as root", "linux", "", true, ""},
		{"linux without either", "linux", "", false, "redis-server is missing"},
		{"mac", "darwin", "/opt/homebrew/bin/redis-server", false, "no redis-server of darwin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := buildable(c.goos, c.server, c.canInstall)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("buildable = %v, want %q", err, c.says)
			}
		})
	}
}

func TestParseImage(t *testing.T) {
	for text, want := range map[string]imageName{
		"redis":                   {"redis", "latest"},
		"redis:7":                 {"redis", "7"},
		"registry:5000/redis":     {"registry:5000/redis", "latest"},
		"registry:5000/redis:7.2": {"registry:5000/redis", "7.2"},
	} {
		if got := parseImage(text); got != want {
			t.Errorf("parseImage(%q) = %v, want %v", text, got, want)
		}
	}
}

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
