-- queue.lua: the queue of those who wait for a lock, and the hand-off to the first of them.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count;
--          counter, the fencing counter of the lock;
--          queue, a sorted set of owners. The score is when the owner began to wait, in us;
--          queue .. owner, for each of them: "round short proposal", its last ask. round
--          numbers the owner's questions to all masters; short, in ms, is the lease for which
--          the lock may be handed to it, and after which the ask is stale and the key gone;
--          proposal is the fencing token it asked for;
--          turn, which is there for as long as Redisson's clients come first
-- returns  each function says what it returns
-- Called by acquire.lua and release.lua. A part of call.lua, which carries it inside.

-- enter puts owner into the queue, or notes its next round. since is the same in every round
-- and on every master, so its place is. A queue is kept for 10 s after the last who entered it:
-- names do not pile up.
function enter(queue, owner, proposal, since, short, round)
  redis.call('zadd', queue, since, owner)
  redis.call('set', queue .. owner, round .. ' ' .. short .. ' ' .. proposal, 'px', short)
  redis.call('pexpire', queue, '10000')
end

-- notify publishes a hand-off to the client of owner, and returns how many received it.
function notify(lock, owner, round, token)
  local client = string.match(owner, '^(.*):')
  return redis.call('publish', 'redlock_wake:' .. (client or ''),
    owner .. ' ' .. round .. ' ' .. token .. ' ' .. lock)
end

-- handOff gives the lock, which nobody has, to the first in the queue who can be notified
-- and whose last ask is not stale: it would not count the answer to one that is. Others leave
-- the queue, and enter it again with their next ask.
--
-- The fencing token of whoever comes next is above the counter and above token, and the one
-- proposed if that is so. It is what a grant would be.
--
-- handOff returns the new owner and its lease in ms, nil if there is none. me, who reads the
-- answer of this step, needs no message: it only leaves the queue.
function handOff(lock, counter, queue, token, me)
  while true do
    local owner = redis.call('zpopmin', queue)[1]
    if not owner then
      return nil
    end
    local ask = owner ~= '' and redis.call('getdel', queue .. owner)
    if owner == me then
      return me
    end
    local round, short, next = string.match(ask or '', '^(%d+) (%d+) (%d+)$')
    if round then
      local last = tonumber(redis.call('get', counter) or 0)
      assert(last, 'ERR the fencing counter is no number')
      last = math.max(last, token)
      if last >= tonumber(next) then
        next = string.format('%.0f', last + 1)
      end
      if notify(lock, owner, round, next) > 0 then
        redis.call('set', counter, next, 'px', short + fenceTTL .. '')
        redis.call('hset', lock, owner, '1')
        redis.call('pexpire', lock, short)
        return owner, tonumber(short)
      end
    end
  end
end
