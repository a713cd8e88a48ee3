-- keep.lua: renew the lease of a reader. A lock that it has alone becomes a shared one.
--
-- KEYS[-]  lock queue counter, see queue.lua; of step E only the lock
-- ARGV[-]  owner; lease, in ms; of h and H token, its fencing token
-- returns  1: it is a reader, for that lease;
--          2: it was not, and is again;
--          0: it is not, and nobody has the lock alone; -1: another owner has it alone; to step
--          E both are {ms left, holder} unless nobody has the lock;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called by call.lua, for each hold of a reader in a Renew command, where extend.lua follows,
-- and for its Enter or Leave command. An expiry never shrinks, so a repeat, or one that comes
-- late, takes nothing away.

function run(step, lock, queue, k, a)
  local owner, lease, token = args[a + 1], args[a + 2], args[a + 3]
  local holder, wrong = holderOf(lock, owner)
  if wrong then
    return wrong
  end
  local inside = holder == owner or holder == 'shared' and reads(owner)
  if not inside then
    if step == 'E' then
      return holder and {redis.call('pttl', lock), holder} or 0
    elseif holder and holder ~= 'shared' then
      return -1
    elseif step == 'H' or redis.call('exists', forcedKey(lock, owner)) == 1 then
      return 0
    end
  end
  join(lock, owner, lease, holder)
  if holder == owner and step == 'h' then
    handOff(lock, keys[k + 3], queue, tonumber(token), 'shared')
  end
  return inside and 1 or 2
end
