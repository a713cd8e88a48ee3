-- share.lua: take a lock together with other readers, or wait for it.
--
-- KEYS[1]  lock, the lock key, see readers.lua
-- ARGV[1]  owner; ARGV[2] lease; ARGV[3] proposal; ARGV[4] ask: as acquire.lua has them
-- returns  the fencing counter, above 0: owner is a reader;
--          {ms left, holder}: it is not. holder is another owner that has the lock; "shared" if
--          readers have it, and somebody waits who comes first; nobody, an empty string, if the
--          lock is free or owner waits behind somebody who comes first. Behind these, if owner
--          waits in the queue, how many stand before it there;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and nothing was changed
-- Called for the Acquire, AcquireOrRegister or Register command of a reader. A repeat changes
-- nothing but the expiry, which never shrinks.

-- A reader that waits behind a writer, while others read, must go on asking, since it is its
-- asks that let in whoever is next. So it is told of no holder: those who know of one only keep
-- their place.

-- #include fence.lua
local lock, owner, lease, proposal = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
-- #include names.lua
local queue, counter = 'redlock_wait:' .. name, 'redlock_fence:' .. name
local free = lease ~= '' and redis.call('exists', lock, queue, 'redlock_read:' .. name) == 0
local holder, inside, joined
-- #include readers.lua

if not free then
  -- #include holder.lua
  local wrong
  holder, wrong = holderOf(owner)
  if wrong then
    return wrong
  end
  inside = holder == owner or holder == 'shared' and reads(owner)
end

-- Checked before anything is written: a script that fails is not rolled back.
local last = redis.call('get', counter)
local token = tonumber(last or proposal)
if not token or token <= 0 then
  return redis.error_reply('ERR the fencing counter is no positive number')
end
local ttl = (tonumber(lease) or 0) + fenceTTL .. ''
if token >= fenceEnd then
  redis.call('set', counter, proposal, 'px', ttl)
  return redis.error_reply(beyond)
end

-- Nobody waits, and the lock is free or shared.
local open = free or
  lease ~= '' and (not holder or holder == 'shared') and redis.call('exists', queue) == 0
if not inside and not open then
  -- #include queue.lua
  local ask, left = ARGV[4], nil
  if ask then
    enter(owner, proposal, ask)
  end
  if holder and (holder ~= 'shared' or lease == '') then
    left = redis.call('pttl', lock)
  elseif lease == '' then
    left = 0
  else
    if not holder then
      left = redis.call('pttl', 'redlock_turn:' .. name)
    end
    if left and left > 0 then
      holder = 'redisson'
    else
      holder, left = handOff(0, holder, owner, lease)
      joined = holder == owner
      last = redis.call('get', counter)
      token = tonumber(last or proposal)
      if holder == 'shared' and (ask or redis.call('exists', queue) == 1) then
        left = redis.call('pttl', lock)
      end
    end
  end
  if left then
    wanted(holder)
    if holder == 'shared' and ask then
      holder = ''
    end
    return {left, holder or '', ask and redis.call('zrank', queue, owner) or nil}
  end
end

if lease ~= '' and not joined then
  join(owner, lease, holder, free)
end
if last then
  redis.call('pexpire', counter, ttl)
else
  redis.call('set', counter, proposal, 'px', ttl)
end
return token
