package script

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

func decodeAcquire(reply any) (Answer, error) {
	if n, ok := reply.(int64); ok && n >= 0 {
		return Answer{Outcome: Done, Token: n}, nil // Command.read knows what 0 means
	}
	return decodeTaken(reply)
}

func decodeEnter(reply any) (Answer, error) {
	switch reply {
	case int64(0):
		return Answer{Outcome: Refused}, nil
	case int64(1):
		return Answer{Outcome: Done}, nil
	}
	return decodeTaken(reply)
}

func decodeRaise(reply any) (Answer, error) {
	n, ok := reply.(int64)
	switch {
	case !ok || n < -1:
		return Answer{}, unexpected(reply)
	case n == 0:
		return Answer{Outcome: Done}, nil
	case n < 0:
		return Answer{Outcome: Refused}, nil
	}
	return Answer{Outcome: Refused, Token: n, Err: errCounter}, nil
}

func decodeTaken(reply any) (Answer, error) {
	if r, ok := reply.([]any); ok && len(r) == 2 {
		left, ok1 := r[0].(int64)
		holder, ok2 := r[1].([]byte)
		if ok1 && ok2 {
			return Answer{Outcome: Refused, Left: millis(left), Holder: string(holder)}, nil
		}
	}
	return Answer{}, unexpected(reply)
}

func decodeRenew(reply any) (Answer, error) {
	list, ok := reply.([]any)
	if !ok {
		return Answer{}, unexpected(reply)
	}
	a := Answer{Outcome: Done, Renewed: make([]Renewed, len(list))}
	for i, r := range list {
		if refusal, refused := r.(redis.Error); refused {
			a.notLock(i, Meaning(refusal))
			continue
		}
		n, ok := r.(int64)
		if !ok || n < int64(Foreign) || n > int64(Healed) {
			return Answer{}, unexpected(reply)
		}
		a.Renewed[i] = Renewed(n)
	}
	return a, nil
}

func decodeRelease(reply any) (Answer, error) {
	n, ok := reply.(int64)
	if !ok {
		return Answer{}, unexpected(reply)
	}
	if n < 0 {
		return Answer{Outcome: Refused}, nil
	}
	return Answer{Outcome: Done}, nil
}

func decodeInspect(reply any) (Answer, error) {
	list, ok := reply.([]any)
	if !ok || len(list) < 2 {
		return Answer{}, unexpected(reply)
	}
	left, ok := list[0].(int64)
	if !ok {
		return Answer{}, unexpected(reply)
	}
	token, err := integer(list[1])
	if err != nil {
		return Answer{}, unexpected(reply)
	}
	a := Answer{Outcome: Done, Token: token}
	if len(list) < 4 {
		return a, nil
	}
	holder, ok := list[2].([]byte)
	if !ok {
		return Answer{}, unexpected(reply)
	}
	count, _ := integer(list[3]) // 0 if it is no number
	a.Holder, a.Left, a.Count = string(holder), millis(left), int(count)
	return a, nil
}

func integer(reply any) (int64, error) {
	b, ok := reply.([]byte)
	if !ok {
		return 0, unexpected(reply)
	}
	return strconv.ParseInt(string(b), 10, 64)
}

func millis(left int64) time.Duration {
	if left < 0 || left > Never.Milliseconds() {
		return Never
	}
	return time.Duration(left) * time.Millisecond
}

func unexpected(reply any) error {
	return fmt.Errorf("unexpected reply to a script: %T %.100v", reply, reply)
}
