-- raise.lua: raise the fencing counter of a lock that owner has.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease of the lock, in ms
-- ARGV[3]  token, a fencing token
-- ARGV[4]  "shared" if owner is a reader
-- returns  1: the counter was below the token, and is the token now; to a reader also if it was not;
--          {0, counter}: it is not below the token;
--          0: owner does not have the lock;
--          NOTLOCK, an error: the key is no lock, see holder.lua, or the counter no number, see
--          fence.lua, and nothing was changed
-- Called for a Raise command. A counter that already equals the token may be somebody else's, so
-- the answer is no then, and to a repeat as well. Readers share theirs: it is enough that the
-- counter is not below it, so that a writer who comes later is above it.

-- #include fence.lua
local lock, owner, lease, token, shared = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'shared'
-- #include names.lua
-- #include holder.lua
-- #include readers.lua
local counter = 'redlock_fence:' .. name
local holder, wrong = holderOf(lock, owner)
if wrong then
  return wrong
end
if holder ~= owner and not (shared and holder == 'shared' and reads(owner)) then
  return 0
end
local last = tonumber(redis.call('get', counter) or 0)
if not last then
  return redis.error_reply(noCounter)
end
if last >= fenceEnd then
  redis.call('set', counter, token, 'px', lease + fenceTTL .. '')
  return redis.error_reply(beyond)
end
if last >= tonumber(token) then
  return shared and 1 or {0, last}
end
redis.call('set', counter, token, 'px', lease + fenceTTL .. '')
return 1
