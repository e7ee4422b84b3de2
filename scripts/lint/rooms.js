import { dirname, join, relative, sep } from 'node:path'

/**
 * Which room may import which, from the ground up: a room names only rooms above its own line, so there is no circle
 * and no arrow up. docs/why/architecture.md tells what each room is for. A new arrow is a decision: add it here.
 * `src/common/*` stands for every room of that house: leaves that anybody may use.
 */
export const rooms = {
  'src/common': [],
  'src/common/errors': [],
  'src/common/ports': [],
  'src/common/text': [],
  'src/common/log': ['src/common/errors', 'src/common/ports', 'src/common/text'],
  'src/common/tls': ['src/common/errors', 'src/common/log', 'src/common/ports'],
  'src/common/http': ['src/common/errors', 'src/common/ports', 'src/common/tls'],
  'src/common/input': ['src/common/errors'],
  'src/common/mysql': ['src/common/errors'],
  'src/common/process': [],
  'src/certificates': ['src/common/*'],
  'src/cli/terminal': ['src/common/*'],
  'src/controller-runtime/kube-config': ['src/common/*'],
  'src/controller-runtime/objects': ['src/common/*'],
  'src/controller-runtime/client': [
    'src/common/*',
    'src/controller-runtime/kube-config',
    'src/controller-runtime/objects',
  ],
  'src/controller-runtime/changes': ['src/common/*', 'src/controller-runtime/client', 'src/controller-runtime/objects'],
  'src/controller-runtime/informers': [
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
  ],
  'src/controller-runtime/controller': [
    'src/common/*',
    'src/controller-runtime/informers',
    'src/controller-runtime/objects',
  ],
  'src/controller-runtime/events': ['src/common/*', 'src/controller-runtime/client', 'src/controller-runtime/objects'],
  'src/controller-runtime/leader': ['src/common/*', 'src/controller-runtime/client', 'src/controller-runtime/objects'],
  'src/controller-runtime/port-forward': [
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/kube-config',
  ],
  'src/controller-runtime/runnables': ['src/common/*', 'src/controller-runtime/leader'],
  'topology/gtid': ['src/common/*'],
  'topology/snapshot': ['src/common/*', 'topology/gtid'],
  'topology/group': ['src/common/*', 'topology/snapshot'],
  'topology/analysis': ['src/common/*', 'topology/gtid', 'topology/snapshot'],
  'failover/protocol': ['src/common/*', 'topology/analysis', 'topology/snapshot'],
  'agents/ports': ['failover/protocol', 'topology/snapshot'],
  'failover/judge': ['failover/protocol', 'src/common/*', 'topology/gtid', 'topology/snapshot'],
  'src/kube/names': [],
  'src/kube/spec': [
    'failover/protocol',
    'src/common/*',
    'src/controller-runtime/objects',
    'src/kube/names',
    'topology/snapshot',
  ],
  'src/kube/objects': ['failover/protocol', 'src/controller-runtime/objects', 'src/kube/names', 'src/kube/spec'],
  'src/kube/pods': [
    'src/common/*',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/spec',
  ],
  'src/kube/admission': [
    'failover/protocol',
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/pods',
    'src/kube/spec',
    'topology/snapshot',
  ],
  'src/kube/secrets': [
    'failover/protocol',
    'src/common/*',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/spec',
  ],
  'src/kube/certificates': [
    'src/certificates',
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/secrets',
    'src/kube/spec',
  ],
  'src/kube/definition': [
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/spec',
  ],
  'src/kube/primary': [
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/pods',
    'src/kube/spec',
  ],
  'src/kube/platform': [
    'src/common/*',
    'src/controller-runtime/changes',
    'src/controller-runtime/client',
    'src/controller-runtime/informers',
    'src/controller-runtime/objects',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/pods',
    'src/kube/primary',
    'src/kube/spec',
    'topology/snapshot',
  ],
  'src/local/files': ['src/common/*'],
  'src/local/folder': ['failover/protocol', 'src/common/*', 'src/local/files', 'topology/snapshot'],
  'src/local/addresses': ['src/common/*', 'src/local/files', 'src/local/folder'],
  'src/local/processes': ['src/common/*', 'src/local/files', 'src/local/folder'],
  'src/local/clusters': [
    'failover/protocol',
    'src/common/*',
    'src/local/addresses',
    'src/local/files',
    'src/local/folder',
    'src/local/processes',
  ],
  'src/local/logs': ['src/local/files', 'src/local/folder'],
  'src/local/supervisor': [
    'src/common/*',
    'src/local/addresses',
    'src/local/files',
    'src/local/folder',
    'src/local/logs',
    'src/local/processes',
  ],
  'src/local/faults': ['src/common/*', 'src/local/folder', 'src/local/processes', 'src/local/supervisor'],
  'src/local/packages': ['src/common/*', 'src/local/files'],
  'src/local/platform': ['src/common/*', 'src/local/files', 'src/local/folder', 'src/local/supervisor'],
  'src/store': [
    'failover/protocol',
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/objects',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/instance': ['agents/ports', 'failover/protocol', 'src/common/*', 'topology/snapshot'],
  'failover/flows': [
    'failover/judge',
    'failover/protocol',
    'src/common/*',
    'topology/group',
    'topology/gtid',
    'topology/snapshot',
  ],
  'src/api-contract': ['failover/judge', 'failover/protocol', 'topology/analysis'],
  'src/manager/options': ['src/common/*', 'src/controller-runtime/leader', 'src/local/files'],
  'agents/binlog': ['agents/instance', 'agents/ports', 'src/common/*', 'topology/gtid', 'topology/snapshot'],
  'agents/doubts': [
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/group/xcom': ['agents/instance', 'agents/ports', 'src/common/*'],
  'agents/guard': [
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/sql': [
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'failover/semisync': [
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/common/*',
    'topology/analysis',
    'topology/gtid',
    'topology/snapshot',
  ],
  'failover/group': [
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/common/*',
    'topology/analysis',
    'topology/group',
    'topology/gtid',
    'topology/snapshot',
  ],
  'src/cli/connection': [
    'src/api-contract',
    'src/cli/terminal',
    'src/common/*',
    'src/controller-runtime/client',
    'src/controller-runtime/kube-config',
    'src/controller-runtime/objects',
    'src/controller-runtime/port-forward',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/secrets',
    'src/local/clusters',
    'src/local/files',
    'src/local/folder',
    'src/local/processes',
  ],
  'src/manager/servers': [
    'src/common/*',
    'src/controller-runtime/runnables',
    'src/kube/admission',
    'src/manager/options',
  ],
  'agents/group': [
    'agents/guard',
    'agents/group/xcom',
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/group',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/semisync': [
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/volume': ['agents/binlog', 'agents/instance', 'agents/ports', 'src/common/*', 'topology/gtid'],
  failover: [
    'failover/flows',
    'failover/group',
    'failover/judge',
    'failover/protocol',
    'failover/semisync',
    'src/common/*',
  ],
  'agents/converge': [
    'agents/doubts',
    'agents/group',
    'agents/guard',
    'agents/instance',
    'agents/ports',
    'agents/semisync',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'agents/mysqld': [
    'agents/binlog',
    'agents/instance',
    'agents/ports',
    'agents/volume',
    'failover/protocol',
    'src/common/*',
    'topology/snapshot',
  ],
  'agents/observe': [
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'src/manager/loop': [
    'failover',
    'failover/judge',
    'failover/protocol',
    'src/common/*',
    'src/store',
    'topology/snapshot',
  ],
  'agents/orders': [
    'agents/converge',
    'agents/doubts',
    'agents/guard',
    'agents/instance',
    'agents/observe',
    'agents/ports',
    'failover/protocol',
    'src/common/*',
    'topology/gtid',
    'topology/snapshot',
  ],
  'src/manager/clusters': [
    'failover',
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/common/*',
    'src/manager/loop',
    'src/store',
    'topology/group',
    'topology/snapshot',
  ],
  agents: [
    'agents/binlog',
    'agents/converge',
    'agents/doubts',
    'agents/group',
    'agents/guard',
    'agents/instance',
    'agents/mysqld',
    'agents/observe',
    'agents/orders',
    'agents/ports',
    'agents/sql',
    'agents/volume',
    'failover/protocol',
    'src/common/*',
    'topology/snapshot',
  ],
  'src/manager/api': ['src/api-contract', 'src/common/*', 'src/manager/clusters'],
  'src/manager': [
    'failover/protocol',
    'src/common/*',
    'src/local/folder',
    'src/local/platform',
    'src/manager/api',
    'src/manager/clusters',
    'src/store',
  ],
  'src/manager/kubernetes': [
    'failover/flows',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/common/*',
    'src/controller-runtime/changes',
    'src/controller-runtime/client',
    'src/controller-runtime/controller',
    'src/controller-runtime/events',
    'src/controller-runtime/informers',
    'src/controller-runtime/kube-config',
    'src/controller-runtime/leader',
    'src/controller-runtime/objects',
    'src/controller-runtime/runnables',
    'src/kube/admission',
    'src/kube/certificates',
    'src/kube/definition',
    'src/kube/names',
    'src/kube/objects',
    'src/kube/platform',
    'src/kube/pods',
    'src/kube/primary',
    'src/kube/secrets',
    'src/kube/spec',
    'src/manager/api',
    'src/manager/clusters',
    'src/manager/loop',
    'src/manager/options',
    'src/manager/servers',
    'src/store',
    'topology/snapshot',
  ],
  'src/cli/commands': [
    'agents',
    'agents/instance',
    'failover/judge',
    'failover/protocol',
    'src/api-contract',
    'src/cli/connection',
    'src/cli/terminal',
    'src/common/*',
    'src/local/files',
    'src/local/folder',
    'src/manager',
    'src/manager/kubernetes',
    'src/manager/options',
    'topology/snapshot',
  ],
  'src/cli/local': [
    'agents/instance',
    'agents/mysqld',
    'failover/protocol',
    'src/api-contract',
    'src/cli/commands',
    'src/cli/connection',
    'src/cli/terminal',
    'src/common/*',
    'src/local/addresses',
    'src/local/clusters',
    'src/local/faults',
    'src/local/files',
    'src/local/folder',
    'src/local/logs',
    'src/local/packages',
    'src/local/platform',
    'src/local/processes',
    'src/local/supervisor',
    'src/store',
  ],
  'src/cli': ['src/cli/commands', 'src/cli/local', 'src/cli/terminal', 'src/common/*'],
  src: ['src/cli', 'src/cli/terminal', 'src/local/files'],
}

/** Tests, and what tests share: these look into all rooms of their house, and of houses where their house looks. */
const isTest = /(?:\.test|(?:^|\/)testing[a-z-]*)\.ts$|\/analysis\/cases\//

/** A house is a folder of rooms: `agents`, `failover`, `topology`, and each folder in `src`. */
const houseOf = (room) => /^(?:src\/)?[^/]*/.exec(room)[0]

/** Whether one word of a row names the room. */
const names = (word, room) => word === room || (word.endsWith('/*') && houseOf(word) === houseOf(room))

/** Houses that the tests of a house look into besides: the other side of a wire, and examples. */
const testsAlsoImport = { failover: ['topology'], 'src/manager': ['agents', 'src/certificates'] }

function mayImport(file, here, there) {
  if (!isTest.test(file)) return rooms[here]?.some((word) => names(word, there))
  const neighbours = [houseOf(here), 'test', ...(testsAlsoImport[houseOf(here)] ?? [])]
  if (neighbours.includes(houseOf(there))) return true
  const looksThere = (word) => houseOf(word) === houseOf(there)
  return Object.entries(rooms).some(([room, imports]) => houseOf(room) === houseOf(here) && imports.some(looksThere))
}

/** A room that is not listed, or names itself or a room below its line, is refused before anything is checked. */
function checkFloors() {
  const seen = new Set()
  for (const [room, imports] of Object.entries(rooms)) {
    const stray = imports.find((word) => ![...seen].some((other) => names(word, other)))
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
