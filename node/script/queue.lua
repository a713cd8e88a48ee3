-- queue.lua: the queue of those who wait for a lock, and the hand-off to the first of them.
-- A part of acquire.lua and release.lua, which name the keys and call it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue: a sorted set of "owner round lease proposal stale". round numbers the
--          owner's questions to all masters; lease, in ms, is for which the lock may be
--          handed to it; proposal is the fencing token it asked for; and until stale, in ms
--          by this master's clock, the entry counts. The score is when the owner began to
--          wait, in us
-- KEYS[4]  there for as long as Redisson's clients come first
-- returns  each function says what it returns
-- An entry comes as "round since lease proposal", where since is the score.
-- Called by acquire.lua and release.lua, which carry it inside.

-- A queue is kept for so long after the last who entered it, in ms: names do not pile up.
local queueTTL = 10000

-- now returns this master's wall clock, in ms.
local function now()
  local t = redis.call('time')
  return t[1] * 1000 + t[2] / 1000
end

-- text writes a whole number in full, which Lua by itself does not.
local function text(n)
  return string.format('%.0f', n)
end

-- leave takes owner, who began to wait at since, out of the queue.
local function leave(owner, since)
  for _, waiter in ipairs(redis.call('zrange', queue, since, since, 'byscore')) do
    if string.match(waiter, '^%S+') == owner then
      redis.call('zrem', queue, waiter)
    end
  end
end

-- enter puts owner into the queue, or notes its next round. since is the same in every
-- round and on every master, so its place is.
local function enter(owner, entry)
  local round, since, lease, proposal = string.match(entry, '^(%d+) (%d+) (%d+) (%d+)$')
  if round ~= '1' then
    leave(owner, since)
  end
  local waiter = {owner, round, lease, proposal, text(now() + lease)}
  redis.call('zadd', queue, since, table.concat(waiter, ' '))
  redis.call('pexpire', queue, queueTTL)
end

-- notify publishes a hand-off to the client of owner, and returns how many received it.
local function notify(owner, round, token)
  local client = string.match(owner, '^(.*):')
  return redis.call('publish', 'redlock_wake:' .. (client or ''),
    owner .. ' ' .. round .. ' ' .. text(token) .. ' ' .. lock)
end

-- nextToken returns the fencing token of whoever comes next: above the counter and above
-- token, and the one proposed if that is so. It is what a grant would be.
local function nextToken(token, proposal)
  local last = tonumber(redis.call('get', counter) or 0)
  assert(last, 'the fencing counter is no number')
  return math.max(last + 1, token + 1, proposal)
end

-- handOff gives the lock, which nobody has, to the first in the queue who can be notified
-- and whose last round is no older than the lease it asked for: it would not count an older
-- one. Others leave the queue, and enter it again with their next round.
--
-- It returns the new owner and its lease in ms, nil if there is none. me, who reads the
-- answer of this script, needs no message: it only leaves the queue.
local function handOff(token, me)
  while true do
    local waiter = redis.call('zpopmin', queue)[1]
    if not waiter then
      return nil
    end
    local owner, round, lease, proposal, stale = string.match(waiter, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
    if me and owner == me then
      return me
    end
    local fresh = owner and now() < tonumber(stale)
    local next = fresh and nextToken(token, proposal)
    if fresh and notify(owner, round, next) > 0 then
      redis.call('set', counter, text(next), 'px', lease + fenceTTL)
      redis.call('hset', lock, owner, '1')
      redis.call('pexpire', lock, lease)
      return owner, tonumber(lease)
    end
  end
end
