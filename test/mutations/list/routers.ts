import type { Mutation } from '../mutation.ts'

const heading = 'Routers'

/** Where clients are led that come by one address. */
export const routers: readonly Mutation[] = [
  {
    id: 'routed-by-a-confirmed-epoch',
    rule: 'Writers are led to nobody whose own agent does not confirm the epoch.',
    heading,
    file: 'src/router/where-to.ts',
    find: "if (role !== 'primary' || epoch !== named)",
    replace: "if (role === 'replica' && epoch > named)",
    shownBy: 'src/router/where-to.test.ts',
  },
  {
    id: 'routed-by-a-promise',
    rule: 'Writers are led to nobody whose own agent promised a newer epoch.',
    heading,
    file: 'src/router/where-to.ts',
    find: 'return promise > named ? ',
    replace: 'return promise < named ? ',
    shownBy: 'src/router/where-to.test.ts',
  },
  {
    id: 'routed-by-a-majority',
    rule: 'Without a manager a majority of the agents tells routers who is primary.',
    heading,
    file: 'src/router/where-to.ts',
    find: 'return confirming.length >= agentsNeeded(instances) ? claim : null',
    replace: 'return confirming.length > 0 ? claim : null',
    shownBy: 'src/router/where-to.test.ts',
  },
  {
    id: 'routed-by-the-newest',
    rule: 'A higher epoch that a majority of the agents confirms is newer than the record that a manager shows.',
    heading,
    file: 'src/router/where-to.ts',
    find: 'return byAgents.epoch > record.epoch ? byAgents : record',
    replace: 'return record',
    shownBy: 'src/router/where-to.test.ts',
  },
  {
    id: 'refused-by-haproxy',
    rule: 'A command that HAProxy refuses is noticed.',
    heading,
    file: 'src/router/commands.ts',
    find: "words === '' || done.test(words)",
    replace: "words !== '?'",
    shownBy: 'src/router/commands.test.ts',
  },
  {
    id: 'gate-behind-what-was-taken',
    rule: 'Writers are let in only once HAProxy has taken what is behind the gate.',
    heading,
    file: 'src/router/commands.ts',
    find: 'refused.filter(isOfWrites)',
    replace: 'refused.filter(() => false)',
    shownBy: 'src/router/commands.test.ts',
  },
  {
    id: 'damaged-word-of-an-agent',
    rule: 'A router takes no word of an agent that is damaged.',
    heading,
    file: 'src/router/agent-word.ts',
    find: 'if (!fits(observedShape, seen)) return null',
    replace: 'if (seen === null) return null',
    shownBy: 'src/router/agent-word.test.ts',
  },
  {
    id: 'damaged-word-of-a-manager',
    rule: 'A router takes no word of a manager that is damaged, or about another cluster.',
    heading,
    file: 'src/router/manager-word.ts',
    find: 'fits(managerWord, said) && said.name === cluster ? said : null',
    replace: 'said as ManagerWord',
    shownBy: 'src/router/manager-word.test.ts',
  },
]
