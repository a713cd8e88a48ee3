-- renew.lua: renew a lock that owner does not have alone, or not any more.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count; counter, its fencing counter
-- ARGV[-]  owner; lease, in ms; token, its fencing token; count, its hold count
-- returns  2: nobody had the lock, and it was set again, see extend.lua;
--          0: nobody has it; -1: another owner has it;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called by call.lua, for each hold of a Renew command; the answer 1, extended, is given
-- there. An expiry and a fencing counter never shrink, so a repeat, or one that comes late,
-- takes nothing away.

function run(step, lock, _, _, a)
  local owner, count = args[a + 1], args[a + 4]
  local holder, wrong = holderOf(lock)
  if wrong then
    return wrong
  elseif holder then
    return -1
  end
  if step == 'N' or redis.call('exists', forcedKey(lock, owner)) == 1 then
    return 0
  end
  -- pcall: a full master has no room for it.
  return redis.pcall('hset', lock, owner, count) == 1 and 2 or 0
end
