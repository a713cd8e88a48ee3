package redlock_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log"
	"strconv"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// When one set of masters is not enough, names are spread over several, which have nothing
// to do with each other. Rendezvous hashing moves as few names as can be when a set is
// added. See docs/cost.md for what to mind then.
func Example_sets() {
	var sets []*redlock.Client
	for range 3 {
		masters := redlocktest.New(3) // in earnest: three other servers for each set
		defer masters.Close()
		client, err := redlock.New(redlock.Config{Pools: masters.Pools(), RestartGuard: -1})
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		sets = append(sets, client)
	}
	setOf := func(name string) int {
		best, most := 0, uint64(0)
		for i := range sets {
			sum := sha256.Sum256([]byte(strconv.Itoa(i) + "/" + name))
			if h := binary.BigEndian.Uint64(sum[:]); h >= most {
				best, most = i, h
			}
		}
		return best
	}

	for _, name := range []string{"orders:42", "orders:43", "invoices:7"} {
		err := sets[setOf(name)].Do(context.Background(), name, func(context.Context) error {
			fmt.Println(name, "is locked in set", setOf(name))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// orders:42 is locked in set 1
	// orders:43 is locked in set 2
	// invoices:7 is locked in set 0
}
