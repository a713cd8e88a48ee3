-- enter.lua: set the hold count of a lock that owner has.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count
-- ARGV[-]  owner, "uuid:rN"; lease from now, in ms; count, the hold count, above 0
-- returns  1: owner has the lock with that count;
--          0: nobody has it;
--          {ms left, holder}: another owner has it (-1 ms: it never expires);
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by call.lua, for an Enter or a Leave command. A repeat changes nothing but the
-- expiry, which never shrinks.

function run(_, lock, _, _, a)
  local owner, lease, count = args[a + 1], args[a + 2], args[a + 3]
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
  if left < tonumber(lease) and lease ~= '0' then -- or a lock that never expires would be gone
    redis.call('pexpire', lock, lease)
  end
  return 1
end
