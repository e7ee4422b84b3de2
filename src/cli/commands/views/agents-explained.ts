import type { AgentView } from '#api-contract/agent-view.ts'
import { duration } from '#common/text/words.ts'
import { renderTable } from '#cli/terminal/table.ts'

/** So many of the newest facts of each agent are shown. JSON has all that it keeps. */
const mostFacts = 10

type Watch = AgentView['watches'][number]

/** What each agent looks after, and has learnt, one line each; and last the agents that said nothing. */
export function renderAgents(agents: readonly AgentView[]): readonly string[] {
  const rows = agents.flatMap(({ instance, watches }) => watches.map((watch) => [instance, ...cellsOf(watch)]))
  const head = ['agent', 'looks after', 'every', 'last look', 'which is']
  const learnt = agents.flatMap(({ instance, facts }) =>
    facts.slice(-mostFacts).map(({ agoMs, fact, detail }) => [instance, `${duration(agoMs)} ago`, fact, detail]),
  )
  const silent = agents.filter(({ failure }) => failure !== '')
  return [
    ...(rows.length === 0 ? [] : renderTable(head, rows)),
    ...(learnt.length === 0 ? [] : ['', ...renderTable(['agent', 'learnt', 'fact', 'which is'], learnt)]),
    ...silent.map(({ instance, failure }) => `${instance} says nothing of itself: ${failure}`),
  ]
}

function cellsOf(watch: Watch): readonly string[] {
  const { name, everyMs, last } = watch
  const look = last === null ? 'none yet' : `${duration(last.agoMs)} ago, took ${duration(last.tookMs)}`
  return [name, duration(everyMs), look, stateOf(watch)]
}

function stateOf({ rests, underWayMs, failure }: Watch): string {
  if (underWayMs !== null) return `under way for ${duration(underWayMs)}`
  if (failure !== '') return `failed: ${failure}`
  return rests ? 'at rest' : 'fine'
}
