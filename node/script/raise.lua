-- raise.lua: raise the fencing counter of a lock that owner has.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  fencing token
-- ARGV[3]  lease of the lock, in ms
-- returns  0: the counter was below the token, and is the token now;
--          the counter, above 0: it is not below the token;
--          -1: owner does not have the lock;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by Node.Send with a Raise command. A counter that already equals the token may
-- be somebody else's, so the answer is no then, and to a repeat as well.

local lock, counter = KEYS[1], KEYS[2]
local owner, token, lease = ARGV[1], ARGV[2], ARGV[3]

-- #include fence.lua
-- #include holder.lua

local holder, wrong = holderOf(lock, owner)
if wrong then
  return wrong
end
if holder ~= owner then
  return -1
end
local last = tonumber(redis.call('get', counter) or 0)
assert(last, 'the fencing counter is no number')
if last >= tonumber(token) then
  return last
end
redis.call('set', counter, token, 'px', lease + fenceTTL)
return 0
