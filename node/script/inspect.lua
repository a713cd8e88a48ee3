-- inspect.lua: tell who has the lock, and change nothing.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- returns  {ms left, fencing counter, owner, hold count}; the last two are missing
--          when nobody has the lock, and ms left is then -2;
--          NOTLOCK, an error: the key is no lock, see holder.lua
-- Called by Node.Send with an Inspect command.

-- #include holder.lua

local lock, counter = KEYS[1], KEYS[2]

local holder, wrong = holderOf(lock)
if wrong then
  return wrong
end
local answer = {redis.call('pttl', lock), redis.call('get', counter) or '0'}
if holder then
  answer[3], answer[4] = holder, redis.call('hget', lock, holder)
end
return answer
