-- enter.lua: set the hold count of a lock that owner has.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  lease from now, in ms
-- ARGV[3]  count, the hold count, above 0. Readers have none
-- ARGV[4]  "shared" if owner is a reader: a lock that it has alone then becomes a shared one
-- returns  1: owner has the lock, with that count;
--          0: nobody has it;
--          {0, 0, ms left, holder}: another owner has it (-1 ms: it never expires);
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called for an Enter or a Leave command. A repeat changes nothing but the expiry, which never
-- shrinks.

local lock, owner, lease, count = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
-- #include holder.lua
local holder, wrong = holderOf(lock, owner)
if wrong then
  return wrong
end
if not holder then
  return 0
end
if ARGV[4] == 'shared' then
  -- #include names.lua
  -- #include readers.lua
  if holder == owner or holder == 'shared' and reads(owner) then
    join(owner, lease, holder)
    return 1
  end
end
local left = redis.call('pttl', lock)
if holder ~= owner then
  return {0, 0, left, holder}
end
redis.call('hset', lock, owner, count)
if left < tonumber(lease) and lease ~= '0' then -- or a lock that never expires would be gone
  redis.call('pexpire', lock, lease)
end
return 1
