-- pass.lua: the queue of those who wait for a lock, and the hand-over to the first of
-- them. A part of acquire.lua and release.lua, which name the keys and call it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue: a sorted set of entries, "owner number lease proposal stale". The number
--          is that of the owner's last ask; the lease, in ms, is for which the lock may be
--          passed to it; the proposal is the fencing token it asked for; and until stale,
--          in ms by this master's clock, the ask counts. The score is when the owner began
--          to wait, in us
-- KEYS[4]  there for as long as Redisson's clients come first
-- returns  each function says what it returns
-- An ask comes as "number since lease proposal", where since is the score.
-- Called by acquire.lua and release.lua, which carry it inside.

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
  for _, ask in ipairs(redis.call('zrange', queue, since, since, 'byscore')) do
    if string.match(ask, '^%S+') == owner then
      redis.call('zrem', queue, ask)
    end
  end
end

-- enter puts owner into the queue, or notes its next ask. since is the same at every
-- ask and on every master, so its place is. The queue expires: names do not pile up.
local function enter(owner, ask)
  local number, since, lease, proposal = string.match(ask, '^(%d+) (%d+) (%d+) (%d+)$')
  if number ~= '1' then
    leave(owner, since)
  end
  local entry = {owner, number, lease, proposal, text(now() + lease)}
  redis.call('zadd', queue, since, table.concat(entry, ' '))
  redis.call('pexpire', queue, 10000)
end

-- tell publishes a message to the client of owner and returns how many received it.
local function tell(owner, number, token)
  local client = string.match(owner, '^(.*):')
  return redis.call('publish', 'redlock_wake:' .. (client or ''),
    owner .. ' ' .. number .. ' ' .. text(token) .. ' ' .. lock)
end

-- above returns the fencing token of whoever comes next: above the counter and above token,
-- and the one proposed if that is so. It is what a grant would be.
local function above(token, proposal)
  local last = tonumber(redis.call('get', counter) or 0)
  assert(last, 'the fencing counter is no number')
  return math.max(last + 1, token + 1, proposal)
end

-- pass gives the lock, which nobody has, to the first in the queue who can be told and
-- whose last ask is no older than the lease it asked for: he would not count an older
-- one. Others leave the queue, and enter it again with their next ask.
--
-- It returns the new owner and his lease in ms, nil if there is none. me, who reads the
-- answer of this script, needs no message: he only leaves the queue.
local function pass(token, ttl, me)
  while true do
    local ask = redis.call('zpopmin', queue)[1]
    if not ask then
      return nil
    end
    local owner, number, lease, proposal, stale = string.match(ask, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
    if me and owner == me then
      return me
    end
    local fresh = owner and now() < tonumber(stale)
    local next = fresh and above(token, proposal)
    if fresh and tell(owner, number, next) > 0 then
      redis.call('set', counter, text(next), 'px', ttl)
      redis.call('hset', lock, owner, '1')
      redis.call('pexpire', lock, lease)
      return owner, tonumber(lease)
    end
  end
end
