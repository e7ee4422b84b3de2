import { pathsOf, sections } from '#orchestrator/routes/table.ts'
import type { Route } from '#orchestrator/routes/route.ts'
import { code, page, table } from './markdown.ts'

/** docs/reference/orchestrator-api.md */
export function orchestratorPage(): string {
  return page(
    'orchestrator’s interface',
    '`src/orchestrator/routes/`',
    'Every route of orchestrator’s HTTP interface that a manager serves, below `/api/`; all are asked with GET. Where a route says `replica`, the older `slave` is the same. The third column says what is otherwise than at orchestrator, and why; it is empty where nothing is. The last one tells of clusters that Regent only watches (`regent adopt`); it is empty where both kinds are served alike. Nothing of these is changed but what a person asks for here, by an account that may do so. [From orchestrator](../guide/from-orchestrator.md) tells how to serve this, and to whom.',
    'Answers are JSON: plain data where orchestrator answers so, otherwise `{"Code": "OK" or "ERROR", "Message", "Details"}`, with status 500 for an error. What is refused has no `Details`, unless orchestrator has them there, too.',
    ...sections.flatMap(([title, routes]) => [
      `## ${title}`,
      table(['route', 'what it does here', 'what differs', 'where Regent only watches'], routes.map(row)),
    ]),
  )
}

function row(route: Route): readonly string[] {
  const [path = ''] = pathsOf(route)
  return [
    code(path) + (route.changes === true ? ' (changes)' : ''),
    route.does,
    route.differs ?? '',
    route.watched ?? '',
  ]
}
