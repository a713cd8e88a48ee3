package redlocktest_test

import (
	"fmt"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
)

func Example() {
	fleet := redlocktest.New(3) // in a test, use redlocktest.Start(t, 3)
	defer fleet.Close()

	fleet.Master(1).Kill()
	fleet.Master(2).Refuse("MISCONF Errors writing to the AOF file")
	for i, pool := range fleet.Pools() {
		conn := pool.Get()
		reply, err := redis.String(conn.Do("SET", "orders:42", "mine", "NX", "PX", 30_000))
		conn.Close()
		fmt.Println(fleet.Master(i).Name(), reply, err)
	}
	fmt.Println(fleet.Master(0).Keys())

	// Output:
	// m1 OK <nil>
	// m2  dial memory m2: connection refused
	// m3  MISCONF Errors writing to the AOF file
	// [orders:42]
}
