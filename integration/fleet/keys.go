package fleet

import (
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Info returns what INFO tells of a section, or of all that it has by default.
func (m *Master) Info(section ...any) (map[string]string, error) {
	conn, err := m.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return info(conn, section...)
}

func info(conn redis.Conn, section ...any) (map[string]string, error) {
	text, err := redis.String(conn.Do("INFO", section...))
	told := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			told[name] = value
		}
	}
	return told, err
}

// tellKeys returns all keys, each followed by what there is to tell of it.
const tellKeys = `
local read = {string = {'GET'}, hash = {'HGETALL'}, zset = {'ZRANGE', 0, 19, 'WITHSCORES'}}
local told = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local text = kind .. ' ' .. redis.call('PTTL', key)
  if read[kind] then
    local command, from, to, with = unpack(read[kind])
    text = text .. ' ' .. cjson.encode(from and redis.call(command, key, from, to, with) or redis.call(command, key))
  end
  table.insert(told, key)
  table.insert(told, string.sub(text, 1, 200))
end
return told`

// Keys returns the keys that are left on the master, each with its type, the milliseconds until it expires
// (-1: never), and what is in it, if it is of a type that locks use: the beginning of "hash 1500 ["b7:r1","1"]".
func (m *Master) Keys() (map[string]string, error) {
	keys, err := redis.StringMap(m.Do("EVAL", tellKeys, 0))
	return keys, m.did("list keys of", err)
}
