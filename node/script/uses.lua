-- uses.lua: say how a client uses the masters, and ask how others do.
--
-- KEYS[1]  redlock_sets: a string with a line for each terms in use, "publisher terms"; and for each, behind
--          the key, a colon and the SHA-1 of the terms, a zset: client -> until when it counts, in ms by this
--          master's clock
-- ARGV[1]  the client, without spaces, which has one of the terms at most; with a question mark while it is a
--          candidate, which ends when it publishes without
-- ARGV[2]  ms for which it counts; 0 if it only asks, and takes back what it published
-- ARGV[3]  its terms, on one line
-- ARGV[4]  this master's clock when that was sent, in ms: what comes late does not count for longer; 0: unknown
-- returns  a list: for each of the other terms in use, who published them last, and they
-- Called by Terms.Publish and LookAtUses: no lock depends on it. A string that is too long, or no string,
-- counts as empty, and is replaced. A repeat only makes the client count for longer.
local client, life, own, sent = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local most, longest, furthest, slack = 64, 65536, 120000, 2000
local text = redis.pcall('getrange', KEYS[1], 0, longest)
if text.err and not string.find(text.err, 'WRONGTYPE') then return text end
if text.err or #text > longest then text = '' end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local from = sent > 0 and math.min(now, sent + slack) or now

local uses, lines, size, read = {}, {}, 0, 0
local function clients(terms) return KEYS[1] .. ':' .. redis.sha1hex(terms) end
local function keep(by, terms)
  lines[#lines + 1] = by .. ' ' .. terms .. '\n'
  size = size + #lines[#lines]
end
for by, terms in string.gmatch(text, '(%S+) ([^\n]+)\n') do
  read = read + 1
  if read <= most and not (life > 0 and terms == own) then
    redis.call('zrem', clients(terms), client, client .. '?')
    redis.call('zremrangebyscore', clients(terms), '-inf', now)
    -- Nobody counts for more than a minute: the clock went back, or it is forged.
    redis.call('zremrangebyscore', clients(terms), string.format('(%.0f', now + furthest), '+inf')
    if redis.call('zcard', clients(terms)) > 0 then
      keep(by, terms)
      uses[#uses + 1], uses[#uses + 2] = by, terms
    end
  end
end
if life > 0 and #lines < most and size + #client + #own + 2 <= longest then
  keep(client, own)
  local before = tonumber(redis.call('zscore', clients(own), client) or 0) -- what comes late takes nothing back
  redis.call('zadd', clients(own), string.format('%.0f', math.max(before, from + life)), client)
  redis.call('zrem', clients(own), client .. '?')
  if redis.call('pttl', clients(own)) < life then redis.call('pexpire', clients(own), life) end
end
local left = redis.call('pttl', KEYS[1])
if #lines == 0 then
  if left ~= -2 then redis.call('del', KEYS[1]) end
elseif life > 0 or #lines < read then
  redis.call('set', KEYS[1], table.concat(lines), 'PX', math.max(left, life, 1))
end
return uses
