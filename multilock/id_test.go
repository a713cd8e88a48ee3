package multilock

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// id writes an owner in full: "x:r1", or "x" for the same, with a UUID for the client x. It
// leaves alone what has one, and "-" for nobody.
func id(owner string) string {
	name, number, _ := strings.Cut(owner, ":")
	if owner == "-" || uuid.Validate(name) == nil {
		return owner
	}
	digits := fmt.Sprintf("%x", name)
	client := uuid.MustParse(strings.Repeat("0", 32-len(digits)) + digits)
	return client.String() + ":" + cmp.Or(number, "r1")
}

// ids writes several owners in full.
func ids(owners string) string {
	all := strings.Fields(owners)
	for i := range all {
		all[i] = id(all[i])
	}
	return strings.Join(all, " ")
}
