-- raise.lua: raise the fencing counter of a lock that owner has.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count; counter, its fencing counter
-- ARGV[-]  owner, "uuid:rN"; lease of the lock, in ms; token, a fencing token
-- returns  0: the counter was below the token, and is the token now;
--          the counter, above 0: it is not below the token;
--          -1: owner does not have the lock. To a reader it is never the counter, but 0;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by call.lua, for a Raise command. A counter that already equals the token may be
-- somebody else's, so the answer is no then, and to a repeat as well. Readers share theirs: it is
-- enough that the counter is not below it, so that a writer who comes later is above it.

function run(step, lock, _, k, a)
  local counter, owner, lease, token = keys[k + 2], args[a + 1], args[a + 2], args[a + 3]
  local holder, wrong = holderOf(lock, owner)
  if wrong then
    return wrong
  end
  if holder ~= owner and not (step == 'C' and holder == 'shared' and reads(owner)) then
    return -1
  end
  local last = tonumber(redis.call('get', counter) or 0)
  assert(last, 'ERR the fencing counter is no number')
  if last >= fenceEnd then
    redis.call('set', counter, token, 'px', lease + fenceTTL)
    return redis.error_reply(beyond)
  end
  if last >= tonumber(token) then
    return step == 'C' and 0 or last
  end
  redis.call('set', counter, token, 'px', lease + fenceTTL)
  return 0
end
