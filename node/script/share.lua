-- share.lua: take a lock together with other readers, or wait for it.
--
-- KEYS[-]  lock queue counter, see queue.lua
-- ARGV[-]  owner, "uuid:rN";
--          lease, in ms; empty to wait only, and leave the lock even if it is free;
--          proposal, the fencing token asked for;
--          since, short and round, see queue.lua; empty if owner does not wait in the queue
-- returns  the fencing counter, above 0: owner is a reader;
--          {ms left, holder}: it is not. holder is another owner that has the lock; "shared" if
--          readers have it, and somebody waits who comes first; nobody, an empty string, if the
--          lock is free or owner waits behind somebody who comes first. Behind these, if owner
--          waits in the queue, how many stand before it there;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called by call.lua, for the Acquire, AcquireOrRegister or Register command of a reader. A
-- repeat changes nothing but the expiry, which never shrinks.

-- A reader that waits behind a writer, while others read, must go on asking, since it is its
-- asks that let in whoever is next. So it is told of no holder: those who know of one only keep
-- their place.

-- free is whether there is neither the lock nor a queue; open whether nobody waits, and the lock is
-- free or shared.
function share(_, lock, queue, k, a, free, open)
  local counter, owner = keys[k + 3], args[a + 1]
  local lease, proposal, since, short, round = unpack(args, a + 2, a + 6)
  local holder, wrong, inside
  if not free then
    holder, wrong = holderOf(lock, owner)
    if wrong then
      return wrong
    end
    inside = holder == owner or holder == 'shared' and reads(owner)
  end

  -- Checked before anything is written: a step that fails is not rolled back.
  local token = tonumber(redis.call('get', counter) or proposal)
  assert(token and token > 0, 'ERR the fencing counter is no positive number')
  if token >= fenceEnd then
    redis.call('set', counter, proposal, 'px', (tonumber(lease) or 0) + fenceTTL)
    return redis.error_reply(beyond)
  end

  local joined
  if not inside and (lease == '' or not open) then
    local waits, left = since ~= '', nil
    if waits then
      enter(queue, owner, proposal .. ' shared', since, short, round)
    end
    if holder and (holder ~= 'shared' or lease == '') then
      left = redis.call('pttl', lock)
    elseif lease == '' then
      left = 0
    else
      if not holder then
        left = redis.call('pttl', (string.gsub(queue, '^redlock_wait:', 'redlock_turn:')))
      end
      if left and left > 0 then
        holder = 'redisson'
      else
        holder, left = handOff(lock, counter, queue, 0, holder, owner, lease)
        joined = holder == owner
        token = tonumber(redis.call('get', counter) or proposal)
        if holder == 'shared' and (waits or redis.call('exists', queue) == 1) then
          left = redis.call('pttl', lock)
        end
      end
    end
    if left then
      if holder == 'shared' and waits then
        holder = ''
      end
      return {left, holder or '', waits and redis.call('zrank', queue, owner) or nil}
    end
  end

  if lease ~= '' and not joined then
    join(lock, owner, lease, holder)
  end
  redis.call('set', counter, string.format('%.0f', token), 'px', (tonumber(lease) or 0) + fenceTTL)
  return token
end
