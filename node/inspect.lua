-- inspect.lua: tell who has the lock, and change nothing.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- returns  {ms left, fencing counter, owner, hold count}; the last two are missing
--          when nobody has the lock, and ms left is then -2
-- Called by Node.Send with an Inspect command.

local answer = {redis.call('pttl', KEYS[1]), redis.call('get', KEYS[2]) or '0'}
local hash = redis.call('hgetall', KEYS[1])
answer[3], answer[4] = hash[1], hash[2]
return answer
