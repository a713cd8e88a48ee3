-- queue.lua: the queue of those who wait for a lock, and the hand-off to the first of them.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count;
--          counter, the fencing counter of the lock;
--          queue, a sorted set of owners. The score is when the owner began to wait, in us;
--          queue .. owner, for each of them: "round short proposal", its last ask, with a word
--          more, "shared", if it is a reader. round numbers the owner's questions to all
--          masters, from a number that others cannot guess; with a "p" behind it, its client
--          polls, and hears of nothing; short, in ms, is the lease for which the lock may be handed to it, and after
--          which the ask is stale and the key gone; proposal is the fencing token it asked for;
--          turn, which is there for as long as Redisson's clients come first. One that lasts longer than a turn is
--          not ours, and counts for nothing
-- returns  each function says what it returns
-- A part of the scripts that hand a lock on, which carry it inside, behind readers.lua.

-- enter puts owner into the queue, or notes its next round. ask is "round short ago", mode is "shared" if owner is a
-- reader. Owner began to wait ago us before the time that its proposal is: the score is the same in every round and
-- on every master, so its place is. A queue is kept for 10 s after the last owner entered it: names do not pile up.
local function enter(owner, proposal, ask, mode)
  local round, short, ago = string.match(ask, '^(%S+) (%S+) (%S+)$')
  local shared = mode and ' ' .. mode or ''
  redis.call('zadd', queue, string.format('%.0f', proposal - ago), owner)
  redis.call('set', queue .. owner, round .. ' ' .. short .. ' ' .. proposal .. shared, 'px', short)
  redis.call('pexpire', queue, '10000')
end

-- notify publishes a hand-off to the client of owner, and returns how many received it.
local function notify(owner, round, token)
  local client = string.match(owner, '^(.*):')
  return redis.call('publish', 'redlock_wake:' .. (client or ''),
    owner .. ' ' .. round .. ' ' .. token .. ' ' .. lock)
end

-- handOff gives the lock to the first waiter who can be notified, or polls, and whose last ask is not
-- stale: its client does not count the answer to a stale ask. Waiters before that one leave the queue, and enter
-- it again with their next ask. A reader lets in the readers behind it, up to the first writer, which waits until
-- they have gone. At most 32 are let in at once; the next ask of a reader lets in more. At most
-- 64 waiters are looked at, since the master does nothing else meanwhile. The asks that follow take the lock past any
-- number of dead waiters in the end.
--
-- holder is who has the lock: nobody, or "shared" if readers do. The fencing token of a writer who comes next is
-- above the counter and above token, and the one proposed if that is so, or if the counter is no token, see
-- fence.lua. It is what a grant would be. A reader leaves the counter as it is, unless token is above it.
--
-- handOff returns the new owner and its lease in ms, "shared" if readers have the lock, nil if
-- nobody has it and nobody waits, or the counter is no number, an empty string and 0 if there are waiters that were not
-- looked at. me reads the answer of this script, so it needs no message. If me is a writer it only leaves the queue, and
-- the caller grants; a reader is let in, for its lease, and returned.
local function handOff(token, holder, me, lease)
  local joined, passes, looks = false, 32, 64
  while passes > 0 and looks > 0 do
    looks = looks - 1
    if holder then
      local first = redis.call('zrange', queue, 0, 0)[1]
      local ask = first and first ~= '' and redis.call('get', queue .. first)
      if ask and not string.find(ask, 'shared', 1, true) then
        break
      end
    end
    local owner = redis.call('zpopmin', queue)[1]
    if not owner then
      break
    end
    local ask = owner ~= '' and redis.call('getdel', queue .. owner)
    if owner == me and not lease then
      return holder or me
    end
    local round, polls, short, next, kind = string.match(ask or '', '^(%d+)(p?) (%d+) (%d+) ?(%a*)$')
    if owner == me then
      join(me, lease, holder)
      holder, joined = 'shared', true
    elseif round then
      local reader = kind == 'shared'
      local last = tonumber(redis.call('get', counter) or 0)
      if not last then
        break -- they ask again, and are told
      end
      last = math.max(last, token)
      if last + 1 >= fenceEnd then
        last = 0
      end
      if reader and last > 0 then
        next = string.format('%.0f', last)
      elseif last >= tonumber(next) then
        next = string.format('%.0f', last + 1)
      end
      if notify(owner, round, reader and next .. ':shared' or next) > 0 or polls == 'p' then
        redis.call('set', counter, next, 'px', short + fenceTTL .. '')
        if not reader then
          redis.call('hset', lock, owner, '1')
          redis.call('pexpire', lock, short)
          return owner, tonumber(short)
        end
        join(owner, short, holder)
        holder, passes = 'shared', passes - 1
      end
    end
  end
  if looks == 0 and not holder and redis.call('exists', queue) == 1 then
    return '', 0
  end
  return joined and me or holder
end

-- wanted tells the client of holder that somebody else wants the lock, if it keeps locks: then its owners are
-- "uuid:kN".
local function wanted(holder)
  if string.sub(holder or '', MARK_FIRST, MARK_LAST) == KEEP_MARK then
    redis.call('publish', 'redlock_wake:' .. string.sub(holder, 1, UUID_SIZE), holder .. ' wanted ' .. lock)
  end
end
