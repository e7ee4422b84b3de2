import type { Mutation } from '../mutation.ts'

const failover = 'A failover, and why each step keeps the invariant'

/** How a manager hears, writes and sends. */
export const managers: readonly Mutation[] = [
  {
    id: 'compare-and-swap',
    rule: 'The record is replaced only where nobody else has replaced it.',
    heading: failover,
    file: 'src/store/memory.ts',
    find: 'if ((cells.get(name)?.revision ?? 0) !== expectedRevision) return false',
    replace: '',
    family: 'managers',
    shownBy: 'src/store/memory.test.ts',
  },
  {
    id: 'newer-word-of-an-agent',
    rule: 'An older word of an agent takes the place of no newer one.',
    heading: failover,
    file: 'src/manager/loop/sightings.ts',
    find: 'if (last?.agentRun === observation.agentRun && last.sequence >= observation.sequence) return false',
    replace: '',
    family: 'messages',
    shownBy: 'src/manager/loop/sightings.test.ts',
  },
  {
    id: 'last-words-of-an-agent',
    rule: 'The last words of an agent that was followed by another count no more.',
    heading: failover,
    file: 'src/manager/loop/sightings.ts',
    find: 'last.stored.earlierIncarnations?.includes(observation.stored.incarnation) &&',
    replace: "last.stored.incarnation === '' &&",
    family: 'messages',
    shownBy: 'src/manager/loop/sightings.test.ts',
  },
  {
    id: 'route-of-the-committed',
    rule: 'Clients are sent to the primary of the record, and to nobody before the commit.',
    heading: failover,
    file: 'failover/steps/route.ts',
    find: 'const instance = instanceOf(record.primary)\n  const view = snapshot.instances.find((candidate) => candidate.name === instance)\n  if (\n    view === undefined ||',
    replace:
      'const instance = record.intent === null ? instanceOf(record.primary) : instanceOf(record.intent.candidate)\n  const view = snapshot.instances.find((candidate) => candidate.name === instance)\n  if (\n    view === undefined ||',
    family: 'switchovers',
  },
  {
    id: 'noted-before-it-is-believed',
    rule: 'What an agent says of an unsettled tail is noted at once.',
    heading: 'A stop nobody ordered',
    file: 'src/manager/loop/books/incarnation-book.ts',
    find: 'const pressing = saysUnsettled(notes, snapshot, record) || fresh',
    replace: 'const pressing = fresh',
    family: 'stops',
    shownBy: 'src/manager/loop/books/incarnation-book.test.ts',
  },
]
