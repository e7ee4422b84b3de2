import { describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { judged, type LookOverrides, type Scene } from './testing.ts'

const dead: LookOverrides = { reach: 'refused' }
const neverSeen: LookOverrides = { reach: 'refused', server: null }
const lost: LookOverrides = { channel: { io: 'connecting', ioErrno: 2_003 } }
/** Promoted by somebody: it follows nobody, and takes writes. */
const leads: LookOverrides = { follows: null }
const alone: LookOverrides = { follows: null, server: { readOnly: true } }
const closed: LookOverrides = { server: { readOnly: true } }

const shapes: Readonly<Record<string, readonly [Scene, string | null]>> = {
  'the one that is followed': [{}, 'shop-0'],
  'the one that was never seen, and that replicas lost': [{ looks: [neverSeen, lost, lost] }, 'shop-0'],
  'the dead one of dead replicas': [{ looks: [dead, dead, dead], before: 'shop-0' }, 'shop-0'],
  'whom somebody promoted while most of the tree was dead': [
    { looks: [dead, leads, { follows: 1 }, dead, dead], before: 'shop-0' },
    'shop-1',
  ],
  'whom somebody promoted, while others wait for the dead one still': [
    { looks: [dead, leads, { follows: 1 }, lost, lost], before: 'shop-0' },
    'shop-1',
  ],
  'whom somebody promoted, of two': [{ looks: [dead, leads], before: 'shop-0' }, 'shop-1'],
  'whom somebody promoted, of two that are back': [{ looks: [{}, leads], before: 'shop-1' }, 'shop-1'],
  'none but the dead one, where a stranger takes writes for itself': [
    { looks: [dead, dead, dead, leads], before: 'shop-0' },
    'shop-0',
  ],
  'none but the dead one, where one that is closed stands alone': [
    { looks: [dead, dead, dead, alone], before: 'shop-0' },
    'shop-0',
  ],
  'the one with more followers that answer, where nobody takes writes': [
    { looks: [closed, dead, dead, { ...alone }, { follows: 3 }], before: 'shop-0' },
    'shop-3',
  ],
  'the one that takes writes above a dead server that was never seen': [
    { looks: [{}, neverSeen, { follows: 1, channel: lost.channel ?? {} }] },
    'shop-0',
  ],
  'the one that was never seen where its replica has what it wrote, and an old primary is back': [
    {
      looks: [
        {},
        neverSeen,
        {
          ...{ follows: 1, channel: lost.channel ?? {} },
          server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 3)}` },
        },
      ],
    },
    'shop-1',
  ],
  'of two that follow each other, the one that takes writes': [
    { looks: [{ follows: 1, server: { readOnly: true } }, { server: { readOnly: false } }] },
    'shop-1',
  ],
  'of two that follow each other, and are dead, the one it was before': [
    { looks: [{ ...dead, follows: 1 }, dead], before: 'shop-1' },
    'shop-1',
  ],
  'a single one': [{ looks: [{ ...dead, server: null }] }, 'shop-0'],
  'nobody, where nobody follows anybody or takes writes': [{ looks: [alone, alone] }, null],
}

describe('The primary', () => {
  it.each(Object.entries(shapes))('is %s', (_, [scene, primary]) => {
    expect(judged(scene).primary).toBe(primary)
  })
})
