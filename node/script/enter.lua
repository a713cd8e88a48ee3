-- enter.lua: set the hold count of a lock that owner has.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  hold count, above 0
-- ARGV[3]  lease from now, in ms
-- returns  1: owner has the lock with that count;
--          0: nobody has it;
--          {ms left, holder}: another owner has it (-1 ms: it never expires);
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by Node.Send with an Enter or a Leave command. A repeat changes nothing but the
-- expiry, which never shrinks.

local lock, owner, count, lease = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

-- #include holder.lua

local holder, wrong = holderOf(lock, owner)
if wrong then
  return wrong
end
if not holder then
  return 0
end
local left = redis.call('pttl', lock)
if holder ~= owner then
  return {left, holder}
end
redis.call('hset', lock, owner, count)
if left < lease and lease > 0 then -- or a lock that never expires would be gone
  redis.call('pexpire', lock, lease)
end
return 1
