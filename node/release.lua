-- release.lua: give back one level of a hold, or all of it, or give up waiting. A lock
-- that is then free passes to the first in the queue.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue, see pass.lua
-- KEYS[4]  Redisson's turn, see pass.lua
-- ARGV[1]  owner, "uuid:rN"; empty: whoever has the lock
-- ARGV[2]  hold count to keep, 0 to free the lock
-- ARGV[3]  channel that tells Redisson's waiters that the lock is free
-- ARGV[4]  owner's fencing token, or the one it proposed
-- ARGV[5]  time to live of the fencing counter, in ms
-- ARGV[6]  1 to pass the lock on, 0 to leave it free: this master is guarded
-- ARGV[7]  when owner began to wait, in us by its clock, 0 if it never did
-- ARGV[8]  who enters the queue, since owner's client waits for its next turn; else
--          there are no more
-- ARGV[9]  number of that one's ask
-- ARGV[10] when it began to wait, in us by its clock
-- ARGV[11] lease for which the lock may be passed to it, in ms
-- returns  1 freed, 0 still held, -1 not held by owner
-- Called by Node.Send with a Release or a Force command. A repeat changes nothing, but
-- passes a lock that has become free since; a Force is not repeated.

local lock, counter, queue, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, keep, channel, token, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if keep ~= '0' then
  if redis.call('hexists', lock, owner) == 0 then
    return -1
  end
  redis.call('hset', lock, owner, keep)
  return 0
end

if owner == '' then
  owner = redis.call('hkeys', lock)[1] or ''
end
local mine = redis.call('hdel', lock, owner) == 1

-- Nobody waits for most locks: what follows is for the others.
if not ARGV[8] and redis.call('exists', queue) == 0 then
  if mine then
    redis.call('publish', channel, '0')
  end
  return mine and 1 or -1
end

-- #include pass.lua

-- A repeat must not enter who has the lock by now, or is in the queue.
if ARGV[8] and redis.call('hexists', lock, ARGV[8]) == 0 then
  leave(ARGV[8], ARGV[10])
  enter(ARGV[8], ARGV[9], ARGV[10], ARGV[11])
end
if not mine then
  -- Who has a lock is not in its queue: taking it, or being passed it, is the way out.
  leave(owner, ARGV[7])
  if redis.call('exists', lock, turn) > 0 then
    return -1
  end
end
if ARGV[6] == '0' then
  if mine then
    redis.call('publish', channel, '0')
  end
  return mine and 1 or -1
end

-- Every eighth hold that ends leaves the key free for a moment if Redisson's clients
-- wait for it, since they can not stand in the queue. The first in it looks again then.
if mine and tonumber(token) % 8 == 0 then
  local first = string.match(redis.call('zrange', queue, 0, 0)[1] or '', '^%S+')
  if first and redis.call('publish', channel, '0') > 0 then
    redis.call('set', turn, 1, 'px', 20)
    tell(first, 0, 0)
    return 1
  end
end

local next = pass(token, ttl)
if mine and not next then
  redis.call('publish', channel, '0')
end
return mine and 1 or -1
