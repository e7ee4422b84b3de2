import { expect, it } from 'vitest'
import { carryOut, refusalsIn, type Proxy } from './commands.ts'

it.each([
  ['three that say nothing', 3, '\n\n\n', []],
  ['text of success', 2, "IP changed from '10.0.0.1' to '10.0.0.2' by 'stats socket command'\n\n\n", []],
  [
    'text of HAProxy 2.6',
    1,
    "no need to change the addr, port changed from '1' to '2' by 'stats socket command'\n\n",
    [],
  ],
  ['a change of nothing', 1, 'nothing changed\n\n', []],
  ['a refusal of several lines', 2, "\nUnknown command: 'b'\n  echo\n\n", ["b: Unknown command: 'b'"]],
  [
    'a refusal behind a success',
    1,
    "IP changed from '1.1.1.1' to '1.1.1.2', invalid port\n\n",
    ["a: IP changed from '1.1.1.1' to '1.1.1.2', invalid port"],
  ],
  ['two refusals', 3, 'No such server.\n\n\nNo such backend.\n\n', ['a: No such server.', 'c: No such backend.']],
  ['no answer', 2, '', ['a: ', 'b: ']],
  ['an answer that is cut short', 2, '\n', ['b: ']],
  ['a refusal that is cut short', 2, '\nNo such server.\n', ['b: No such server.']],
  ['more answers than commands', 1, '\n\n', ['a: ']],
])('Of answers of HAProxy refusals are known: %s', (_, count, answer, wanted) => {
  const refused = refusalsIn(['a', 'b', 'c'].slice(0, count), answer)
  expect(refused.map(({ command, words }) => `${command}: ${words}`)).toEqual(wanted)
})

/** Refuses what matches, and keeps what else was told. */
function refusing(pattern: RegExp) {
  const taken: string[] = []
  const proxy: Proxy = {
    tell: async (commands) =>
      commands.map((command) => (pattern.test(command) ? 'No such server.\n\n' : (taken.push(command), '\n'))).join(''),
    restart: async () => undefined,
  }
  return { proxy, taken }
}

const move = 'set server primary/primary addr 10.0.0.2 port 3306'
const read = 'set server reads/r3 addr 10.0.0.2 port 3306'
const opens = 'set server gate/open state ready'
const shut = ['set server gate/open state maint', 'shutdown sessions server primary/primary']

it('The gate does not open where the address of the primary was refused, and sessions that write are shut', async () => {
  const { proxy, taken } = refusing(/primary addr/)
  const refused = await carryOut(proxy, [[move, read], [opens]])
  expect(String(refused?.sentence)).toBe(`sessions wait: HAProxy refuses "${move}": No such server.`)
  expect(refused?.writes).toBe('wait')
  expect(taken).toEqual([read, ...shut])
})

it('The gate opens all the same where only a replica was refused', async () => {
  const { proxy, taken } = refusing(/reads/)
  const refused = await carryOut(proxy, [[move, read], [opens]])
  expect([String(refused?.sentence), refused?.writes]).toEqual([
    `HAProxy refuses "${read}": No such server.`,
    'are led',
  ])
  expect(taken).toEqual([move, opens])
})

it('An HAProxy that does not even close the gate is told nothing more', async () => {
  const { proxy, taken } = refusing(/gate|primary/)
  expect((await carryOut(proxy, [[move], [opens]]))?.writes).toBe('go on')
  expect(taken).toEqual([])
})

it.each([
  ['close the gate', 'set server gate/open state maint', 'go on'],
  ['end the sessions behind a gate that is closed', 'shutdown sessions server primary/primary', 'wait'],
])('A refusal is told as such where HAProxy then does not answer whether to %s', async (_, unanswered, writes) => {
  const { proxy } = refusing(/primary addr/)
  const tell: Proxy['tell'] = async (commands) => {
    if (commands.includes(unanswered)) throw new Error('no whole answer within 2000 ms')
    return proxy.tell(commands)
  }
  const refused = await carryOut({ tell }, [[move], [opens]])
  expect(String(refused?.sentence)).toBe(`sessions wait: HAProxy refuses "${move}": No such server.`)
  expect(refused?.writes).toBe(writes)
})

it('What HAProxy says is short in a sentence', async () => {
  const proxy: Proxy = { tell: async () => `${'No '.repeat(99)}\n\n`, restart: async () => undefined }
  const long = 'set server primary/primary addr 2001:0db8:85a3:1111:2222:8a2e:0370:7334 port 65535'
  expect(String((await carryOut(proxy, [[long]]))?.sentence).length).toBeLessThanOrEqual(160)
})
