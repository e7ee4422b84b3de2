import { dirname, join, relative, sep } from 'node:path'

/**
 * Which room may import which, from the ground up: a room names only rooms above its own line, so there is no circle
 * and no arrow up. docs/why/architecture.md tells what each room is for. A new arrow is a decision: add it here.
 */
export const rooms = {
  'src/common': [],
  'src/certificates': ['src/common'],
  'src/cli/terminal': ['src/common'],
  'src/controller-runtime': ['src/common'],
  topology: ['src/common'],
  'failover/protocol': ['src/common', 'topology'],
  'agents/ports': ['failover/protocol', 'topology'],
  'failover/judge': ['failover/protocol', 'src/common', 'topology'],
  'src/kube': ['failover/protocol', 'src/certificates', 'src/common', 'src/controller-runtime', 'topology'],
  'src/local': ['failover/protocol', 'src/common', 'topology'],
  'src/store': ['failover/protocol', 'src/common', 'src/controller-runtime', 'topology'],
  'agents/instance': ['agents/ports', 'failover/protocol', 'src/common', 'topology'],
  'failover/flows': ['failover/judge', 'failover/protocol', 'topology'],
  'src/api-contract': ['failover/judge', 'failover/protocol', 'topology'],
  'src/manager/options': ['src/common', 'src/controller-runtime', 'src/local'],
  'agents/binlog': ['agents/instance', 'agents/ports', 'src/common', 'topology'],
  'agents/doubts': ['agents/instance', 'agents/ports', 'failover/protocol', 'src/common', 'topology'],
  'agents/guard': ['agents/instance', 'agents/ports', 'failover/protocol', 'src/common', 'topology'],
  'agents/sql': ['agents/instance', 'agents/ports', 'failover/protocol', 'src/common', 'topology'],
  'failover/semisync': ['failover/flows', 'failover/judge', 'failover/protocol', 'topology'],
  'src/cli/connection': [
    'src/api-contract',
    'src/cli/terminal',
    'src/common',
    'src/controller-runtime',
    'src/kube',
    'src/local',
  ],
  'src/manager/servers': ['src/common', 'src/controller-runtime', 'src/kube', 'src/manager/options'],
  'agents/semisync': [
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'agents/volume': ['agents/binlog', 'agents/instance', 'agents/ports', 'src/common', 'topology'],
  failover: ['failover/flows', 'failover/judge', 'failover/protocol', 'failover/semisync', 'src/common'],
  'agents/converge': [
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/semisync',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'agents/mysqld': [
    'agents/binlog',
    'agents/instance',
    'agents/ports',
    'agents/volume',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'agents/observe': [
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'src/manager/loop': ['failover', 'failover/judge', 'failover/protocol', 'src/common', 'src/store', 'topology'],
  'agents/orders': [
    'agents/converge',
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/observe',
    'agents/ports',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'src/manager/clusters': [
    'failover',
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/common',
    'src/manager/loop',
    'src/store',
    'topology',
  ],
  agents: [
    'agents/binlog',
    'agents/converge',
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/mysqld',
    'agents/observe',
    'agents/orders',
    'agents/ports',
    'agents/sql',
    'agents/volume',
    'failover/protocol',
    'src/common',
    'topology',
  ],
  'src/manager/api': ['src/api-contract', 'src/common', 'src/manager/clusters'],
  'src/manager': [
    'failover/protocol',
    'src/common',
    'src/local',
    'src/manager/api',
    'src/manager/clusters',
    'src/store',
  ],
  'src/manager/kubernetes': [
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/common',
    'src/controller-runtime',
    'src/kube',
    'src/manager/api',
    'src/manager/clusters',
    'src/manager/loop',
    'src/manager/options',
    'src/manager/servers',
    'src/store',
    'topology',
  ],
  'src/cli/commands': [
    'agents',
    'agents/instance',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/cli/connection',
    'src/cli/terminal',
    'src/common',
    'src/local',
    'src/manager',
    'src/manager/kubernetes',
    'src/manager/options',
    'topology',
  ],
  'src/cli/local': [
    'agents/instance',
    'agents/mysqld',
    'failover/protocol',
    'src/api-contract',
    'src/cli/commands',
    'src/cli/connection',
    'src/cli/terminal',
    'src/common',
    'src/local',
    'src/store',
  ],
  'src/cli': ['src/cli/commands', 'src/cli/local', 'src/cli/terminal', 'src/common'],
  src: ['src/cli', 'src/cli/terminal', 'src/local'],
}

/** Tests, and what tests share: these look into all rooms of their house, and where any room of the house looks. */
const isTest = /(?:\.test|(?:^|\/)testing[a-z-]*)\.ts$|\/analysis-cases\//

/** A house is a folder of rooms: `agents`, `failover`, `topology`, and each folder in `src`. */
const houseOf = (room) => /^(?:src\/)?[^/]*/.exec(room)[0]

/** Houses that the tests of a house look into besides: the other side of a wire, and examples. */
const testsAlsoImport = { failover: ['topology'], 'src/manager': ['agents', 'src/certificates'] }

function mayImport(file, here, there) {
  if (!isTest.test(file)) return rooms[here]?.includes(there)
  const neighbours = [houseOf(here), 'test', ...(testsAlsoImport[houseOf(here)] ?? [])]
  if (neighbours.includes(houseOf(there))) return true
  return Object.entries(rooms).some(([room, imports]) => houseOf(room) === houseOf(here) && imports.includes(there))
}

/** A room that is not listed, or names itself or a room below its line, is refused before anything is checked. */
function checkFloors() {
  const seen = new Set()
  for (const [room, imports] of Object.entries(rooms)) {
    const stray = imports.find((other) => !seen.has(other))
    if (stray !== undefined)
      throw new Error(`scripts/lint/rooms.js: ${room} may not import ${stray}: circle or arrow up`)
    seen.add(room)
  }
}

/** ESLint rule: an import stays in its room or goes to a room that the table allows. */
export function roomsRule(root) {
  checkFloors()
  const roomOf = (file) => relative(root, dirname(file)).split(sep).join('/')
  return {
    create(context) {
      const file = relative(root, context.filename).split(sep).join('/')
      const here = roomOf(context.filename)
      const check = (node) => {
        const to = node.source?.value
        if (typeof to !== 'string' || !to.startsWith('.') || !to.endsWith('.ts')) return
        const there = roomOf(join(dirname(context.filename), to))
        if (there === here || mayImport(file, here, there)) return
        const message = `${here} may not import ${there}: scripts/lint/rooms.js says what may import what`
        context.report({ node, message })
      }
      return {
        ImportDeclaration: check,
        ImportExpression: check,
        ExportNamedDeclaration: check,
        ExportAllDeclaration: check,
      }
    },
  }
}
