import { describe, expect, test } from 'vitest'
import { readHosts } from './hosts-file.ts'
import { fileWith } from '../testing.ts'

describe('the file given with --hosts', () => {
  test('lists addresses with wrappers as a text or a list of words', async () => {
    const file = await fileWith(
      '- address: 10.1.0.1\n  wrapper: ip netns exec  shop0\n- {address: 10.1.0.2, wrapper: [nsenter, "-n"]}\n- address: 10.1.0.3\n',
    )
    expect(await readHosts(file, 3)).toEqual([
      { address: '10.1.0.1', wrapper: ['ip', 'netns', 'exec', 'shop0'] },
      { address: '10.1.0.2', wrapper: ['nsenter', '-n'] },
      { address: '10.1.0.3', wrapper: [] },
    ])
  })

  const refusals: readonly (readonly [string, string, RegExp])[] = [
    ['a mapping', 'address: 10.1.0.1', /must be a list/],
    ['an empty list', '[]', /lists 0 hosts/],
    ['too few hosts', '- address: 10.1.0.1', /lists 1 hosts, too few for --instances 2/],
    ['an entry without an address', '- wrapper: x\n- address: 10.1.0.1', /0 lacks "address"/],
    ['a name for an address', '- address: example\n- address: 10.1.0.1', /"example" is no IPv4 address/],
    ['an address twice', '- address: 10.1.0.1\n- address: 10.1.0.1', /listed twice/],
    [
      'an unknown key',
      '- {address: 10.1.0.1, port: 1}\n- address: 10.1.0.2',
      /unknown key "port"; allowed are address, wrapper/,
    ],
    [
      'a wrapper that is a number',
      '- {address: 10.1.0.1, wrapper: 7}\n- address: 10.1.0.2',
      /0.wrapper is 7; allowed is a text/,
    ],
    [
      'seventeen hosts',
      Array.from({ length: 17 }, (_, at) => `- address: 10.1.0.${at + 1}`).join('\n'),
      /lists 17 hosts; allowed are 1 to 16/,
    ],
  ]
  test.each(refusals)('is refused for %s', async (_what, content, message) => {
    await expect(readHosts(await fileWith(content), 2)).rejects.toThrow(message)
  })
})
