import { acknowledgingRoutes } from './acknowledging.ts'
import { annotatingRoutes } from './annotating.ts'
import { caringRoutes } from './caring.ts'
import { maintainingRoutes } from './maintaining.ts'
import { metaRoutes } from './meta.ts'
import { movingRoutes } from './moving.ts'
import { readingRoutes } from './reading.ts'
import { recoveringRoutes } from './recovering.ts'
import { refusingRoutes } from './refusing.ts'
import type { Route } from './route.ts'

/** Every route, by what it is about. */
export const sections: readonly (readonly [string, readonly Route[]])[] = [
  ['Servers and clusters', readingRoutes],
  ['Another primary', recoveringRoutes],
  ['Recoveries', acknowledgingRoutes],
  ['Downtime, and what is listed', caringRoutes],
  ['Maintenance', maintainingRoutes],
  ['Tags, pools, aliases, candidates', annotatingRoutes],
  ['Who follows whom', movingRoutes],
  ['What Regent keeps by itself', refusingRoutes],
  ['The manager', metaRoutes],
]

export const routes: readonly Route[] = sections.flatMap(([, each]) => each)

/** All paths of a route: orchestrator knows the older words, too. */
export function pathsOf({ path }: Route): readonly string[] {
  const older = path
    .replace('take-siblings', 'enslave-siblings')
    .replace('take-master', 'enslave-master')
    .replace(/^(?!instance-|.*semi-sync)(.*)replica(?=s|-|\/|$)/, '$1slave')
  return older === path ? [path] : [path, older]
}
