import { readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/**
 * Which room may import which, from the ground up: a room names only rooms above its own line, so there is no circle
 * and no arrow up. docs/why/architecture.md tells what each room is for. A new arrow is a decision: add it here.
 * `a/{b,c}` is short for `a/b a/c`, `a/*` for `a` and all rooms in it; a line that begins with spaces goes on with the row above.
 * Rooms of other houses may import all of `src/common`: leaves that name nothing but each other.
 */
const table = `
src/common
src/common/text
src/common/sentence                  src/common/text
src/common/errors                    src/common/sentence
src/common/files
src/common/ports                     src/common/files
src/common/events                    src/common/ports
src/common/log                       src/common/{errors,ports,sentence,text}
src/common/tls                       src/common/{errors,log,ports,sentence}
src/common/http                      src/common/{errors,ports,sentence,tls}
src/common/input                     src/common/{errors,sentence}
src/common/mysql                     src/common/{errors,sentence}
src/common/process
src/common/watch                     src/common/{errors,ports,sentence}
src/certificates
src/cli/terminal
src/controller-runtime/kube-config
src/controller-runtime/objects
src/controller-runtime/client        src/controller-runtime/{kube-config,objects}
src/controller-runtime/changes       src/controller-runtime/{client,objects}
src/controller-runtime/informers     src/controller-runtime/{client,objects}
src/controller-runtime/controller    src/controller-runtime/{informers,objects}
src/controller-runtime/events        src/controller-runtime/{client,objects}
src/controller-runtime/leader        src/controller-runtime/{client,objects}
src/controller-runtime/port-forward  src/controller-runtime/{client,kube-config}
src/controller-runtime/runnables     src/controller-runtime/leader
topology/gtid
src/binlog                           topology/gtid
topology/snapshot                    topology/gtid
src/object-store
src/object-store/folder              src/object-store
src/object-store/s3                  src/object-store
src/object-store/open                src/object-store src/object-store/{folder,s3}
src/backup
src/backup/keys
src/backup/stream
src/backup/objects                   src/backup/keys src/object-store topology/{gtid,snapshot}
src/backup/archive                   src/backup/objects topology/gtid
src/backup/restore                   src/backup/{archive,keys,objects} src/binlog topology/gtid
src/backup/retention                 src/backup/objects src/object-store topology/gtid
topology/group                       topology/snapshot
topology/analysis                    topology/{gtid,snapshot}
failover/protocol                    topology/{analysis,snapshot}
failover/settings                    failover/protocol topology/snapshot
src/backup/transfer                  failover/protocol src/backup
                                     src/backup/{archive,keys,objects,restore,retention,stream}
                                     src/binlog src/object-store src/object-store/{open,s3} topology/gtid
agents/ports                         failover/protocol src/backup/keys src/object-store topology/{gtid,snapshot}
agents/sql/dialect
agents/lifecycle/wire
agents/lifecycle/built-in            agents/lifecycle/wire
agents/lifecycle/copy
agents/lifecycle/configuration       agents/lifecycle/wire
agents/lifecycle/grpc                agents/lifecycle/wire
agents/lifecycle/actions             agents/lifecycle/{built-in,grpc,wire}
agents/lifecycle/events              agents/lifecycle/wire
agents/lifecycle/probes              agents/lifecycle/wire
agents/lifecycle/server              agents/lifecycle/wire
agents/lifecycle/streaming           agents/lifecycle/{actions,built-in,wire}
agents/lifecycle/worker              agents/lifecycle/{actions,copy,events,streaming,wire}
agents/lifecycle                     agents/lifecycle/{actions,built-in,configuration,events,probes,server}
                                     agents/lifecycle/{streaming,wire,worker}
failover/judge                       failover/protocol topology/{gtid,snapshot}
failover/judge/data                  failover/judge failover/protocol topology/{gtid,snapshot}
failover/judge/election              failover/judge failover/judge/data failover/protocol topology/{gtid,snapshot}
failover/judge/primary               failover/judge failover/judge/election failover/protocol
                                     topology/{gtid,snapshot}
failover/judge/seeding               failover/judge failover/judge/{data,election} failover/protocol
                                     topology/{gtid,snapshot}
src/kube/names
src/kube/spec                        failover/protocol src/controller-runtime/objects src/kube/names topology/snapshot
src/kube/backup                      src/controller-runtime/objects src/kube/{names,spec} topology/snapshot
src/kube/objects                     failover/protocol src/controller-runtime/objects src/kube/{names,spec}
src/kube/injection                   agents/lifecycle/{configuration,wire} src/controller-runtime/client
src/kube/pods                        src/controller-runtime/objects src/kube/{injection,names,objects,spec}
src/kube/app                         src/controller-runtime/objects src/kube/{names,objects,pods,spec}
src/kube/router                      failover/protocol src/controller-runtime/objects src/kube/{app,names,objects,spec}
src/kube/admission                   agents/lifecycle/{built-in,configuration,wire} failover/{protocol,settings}
                                     src/backup/{objects,restore,transfer} src/controller-runtime/{client,objects}
                                     src/kube/{app,backup,injection,names,objects,pods,spec} topology/snapshot
src/kube/secrets                     failover/protocol src/controller-runtime/objects src/kube/{names,objects,spec}
src/kube/certificates                src/certificates src/controller-runtime/{client,objects}
                                     src/kube/{names,objects,secrets,spec}
src/kube/definition                  src/controller-runtime/{client,objects} src/kube/{app,backup,names,spec}
src/kube/primary                     src/controller-runtime/{client,objects} src/kube/{names,objects,pods,spec}
src/kube/pod-events                  src/controller-runtime/{client,objects} src/kube/{names,objects,pods}
src/kube/platform                    src/controller-runtime/{changes,client,informers,objects}
                                     src/kube/{names,objects,pods,primary,spec} topology/snapshot
src/local/files
src/local/folder                     failover/protocol src/backup/{restore,transfer} src/local/files topology/snapshot
src/local/addresses                  src/local/{files,folder}
src/local/processes                  src/local/{files,folder}
src/local/clusters                   failover/protocol src/local/{addresses,files,folder,processes}
src/local/logs                       src/local/{files,folder}
src/local/supervisor                 src/local/{addresses,files,folder,logs,processes}
src/local/faults                     src/local/{folder,processes,supervisor}
src/local/packages                   src/local/files
src/local/platform                   src/local/{faults,files,folder,supervisor}
src/adopt                            failover/protocol src/local/{clusters,files,folder} topology/snapshot
src/adopt/servers                    agents/sql/dialect src/adopt
src/store                            failover/protocol src/controller-runtime/{client,objects}
                                     topology/{gtid,snapshot}
agents/instance                      agents/ports failover/{protocol,settings} topology/snapshot
agents/lifecycle/mysql               agents/{instance,ports} agents/lifecycle/{built-in,copy,wire}
                                     failover/{protocol,settings} topology/snapshot
failover/steps                       failover/{judge/*,protocol} topology/{gtid,snapshot}
failover/flows/backups               failover/{judge/*,protocol,steps} src/backup src/backup/objects
                                     topology/{gtid,snapshot}
failover/flows                       failover/flows/backups failover/{judge/*,protocol,steps} topology/{analysis,group,gtid,snapshot}
src/api-contract                     failover/{judge/*,protocol} topology/analysis
src/manager/options                  src/controller-runtime/leader src/local/files
agents/binlog                        agents/{instance,ports} src/binlog topology/{gtid,snapshot}
agents/salvage                       agents/{instance,ports} failover/protocol topology/{gtid,snapshot}
agents/doubts                        agents/{instance,ports} failover/protocol topology/{gtid,snapshot}
agents/group/xcom                    agents/{instance,ports}
agents/guard                         agents/{instance,ports} failover/{protocol,settings} topology/{gtid,snapshot}
agents/sql/connections               agents/{instance,ports} topology/snapshot
agents/sql/replication               agents/{instance,ports} agents/sql/connections failover/{protocol,settings}
                                     topology/{gtid,snapshot}
agents/needs                         agents/{instance,ports} failover/protocol topology/snapshot
agents/sql/needs                     agents/{instance,needs,ports} agents/sql/connections topology/snapshot
agents/sql/settings                  agents/{instance,ports} agents/sql/connections failover/{protocol,settings}
                                     topology/snapshot
agents/sql                           agents/{instance,needs,ports} agents/sql/{connections,needs,replication,settings}
                                     failover/{protocol,settings} topology/snapshot
failover/semisync                    failover/{flows,judge/*,protocol,steps} topology/{analysis,gtid,snapshot}
failover/group                       failover/{flows,judge/*,protocol,steps} failover/flows/backups topology/{analysis,group,gtid,snapshot}
src/cli/connection                   src/adopt src/api-contract src/cli/terminal
                                     src/controller-runtime/{client,kube-config,objects,port-forward}
                                     src/kube/{names,objects,secrets} src/local/{clusters,files,folder,processes}
src/manager/servers                  src/controller-runtime/runnables src/kube/admission src/manager/options
agents/group                         agents/{doubts,guard,instance,ports} agents/group/xcom
                                     failover/{protocol,settings} topology/{group,gtid,snapshot}
agents/semisync                      agents/{doubts,guard,instance,ports} failover/{protocol,settings}
                                     topology/{gtid,snapshot}
agents/volume                        agents/{binlog,instance,ports} agents/lifecycle/copy src/binlog topology/gtid
failover                             failover/{flows,group,judge/*,protocol,semisync,steps}
failover/way-out                     failover failover/{flows,judge/*,protocol,steps} topology/snapshot
agents/converge                      agents/{doubts,group,guard,instance,ports,semisync} failover/protocol
                                     topology/{gtid,snapshot}
agents/mysqld                        agents/{binlog,instance,ports,volume} failover/{protocol,settings}
                                     topology/snapshot
agents/throw-away                    agents/{instance,mysqld,ports} agents/sql/connections failover/settings
agents/observe                       agents/{doubts,guard,instance,ports} failover/{protocol,settings}
                                     topology/{gtid,snapshot}
src/manager/loop/books               failover failover/{judge/*,protocol} src/store topology/snapshot
src/manager/loop/hooks               failover failover/{judge/*,protocol} src/manager/loop/books topology/snapshot
src/manager/loop                     failover failover/{judge/*,protocol} src/manager/loop/{books,hooks} src/store
                                     topology/snapshot
src/manager/hooks                    failover/protocol src/manager/loop/hooks
agents/backup                        agents/{instance,ports} agents/lifecycle/{copy,mysql} failover/protocol
                                     src/backup/{archive,keys,objects,restore,retention,transfer}
                                     src/object-store src/object-store/open topology/snapshot
agents/backup/archive                agents/{backup,binlog,instance,ports} failover/protocol
                                     src/backup/{archive,objects,transfer} src/object-store topology/{gtid,snapshot}
agents/backup/rebuild                agents/{backup,binlog,converge,instance,ports} failover/protocol
                                     src/backup/{keys,objects,restore,transfer} src/binlog topology/{gtid,snapshot}
agents/backup/rehearsal              agents/{backup,instance,ports} agents/backup/rebuild failover/protocol
                                     src/backup/{objects,restore,transfer} topology/{gtid,snapshot}
agents/orders                        agents/{backup,converge,doubts,guard,instance,observe,ports,salvage}
                                     agents/backup/{archive,rebuild,rehearsal} failover/protocol
                                     topology/{gtid,snapshot}
src/manager/clusters/operations      failover/flows/backups failover failover/{flows,judge/*,protocol,way-out}
                                     src/api-contract src/backup/objects
                                     src/manager/loop src/manager/loop/{books,hooks} topology/snapshot
src/manager/clusters                 failover failover/{judge/*,protocol,way-out} src/{api-contract,store}
                                     src/manager/clusters/operations src/manager/loop src/manager/loop/{books,hooks}
                                     topology/{group,snapshot}
agents/far                           agents/{binlog,instance,mysqld,ports,volume} src/binlog topology/{gtid,snapshot}
agents/far/adopting                  agents/far agents/{instance,ports} agents/sql/connections failover/settings
agents/far/sql-only                  agents/{far,instance,ports} agents/sql/{connections,replication} failover/settings
                                     topology/{gtid,snapshot}
agents                               agents/{backup,binlog,converge,doubts,far,group,guard,instance}
                                     agents/backup/{archive,rebuild,rehearsal} agents/far/sql-only
                                     agents/{lifecycle,mysqld,observe,orders,ports,salvage,sql} agents/{throw-away,volume}
                                     agents/lifecycle/{built-in,mysql} failover/protocol topology/snapshot
src/manager/api                      src/api-contract src/manager/clusters
src/adopt/watch                      agents/sql/dialect failover/{judge/*,protocol} src/adopt src/adopt/servers
                                     src/api-contract src/local/{files,folder} src/manager/{api,clusters} topology/{analysis,gtid,snapshot}
src/adopt/origin                     failover/protocol src/adopt src/adopt/servers src/local/{files,folder} topology/snapshot
src/orchestrator/documents           failover/{judge/*,protocol} src/manager/clusters topology/snapshot
src/orchestrator/trees               src/manager/clusters src/orchestrator/documents topology/gtid
src/orchestrator/fleet               failover/protocol src/manager/clusters src/orchestrator/documents topology/snapshot
src/orchestrator/analysis            src/orchestrator/{documents,fleet}
src/orchestrator/routes              failover/{judge/*,protocol} src/api-contract src/manager/clusters
                                     src/orchestrator/{analysis,documents,fleet,trees} topology/snapshot
src/orchestrator                     src/manager/clusters src/orchestrator/{fleet,routes,trees}
src/adopt/trees                      agents/sql/dialect src/adopt src/adopt/{servers,watch} src/local/files
                                     src/orchestrator/trees topology/gtid
src/adopt/serve                      failover/protocol src/adopt src/adopt/{origin,servers,trees,watch}
                                     src/local/{files,folder} src/manager/{api,clusters} src/orchestrator
                                     src/orchestrator/trees src/store
src/manager                          failover/protocol src/api-contract src/local/{folder,platform} src/manager/{api,clusters,hooks}
                                     src/orchestrator src/store
src/router                           failover/protocol src/api-contract src/cli/connection
                                     src/local/{files,folder,platform,processes} src/manager/{clusters,loop}
                                     topology/snapshot
src/router/kubernetes                failover/protocol src/api-contract src/cli/connection src/kube/{names,objects,router}
                                     src/local/{files,packages} src/manager/servers src/router topology/snapshot
src/manager/kubernetes/memory        src/controller-runtime/{client,controller,objects}
                                     src/kube/{pod-events,pods,secrets}
src/manager/kubernetes/pod-events    src/controller-runtime/{changes,client,controller,events,informers,objects}
                                     src/kube/{pod-events,pods} src/manager/kubernetes/memory
src/manager/kubernetes/status        failover/{judge/*,protocol} src/api-contract src/kube/{names,objects,pods,spec}
                                     src/controller-runtime/{events,informers,objects} src/manager/clusters
                                     topology/snapshot
src/manager/kubernetes/pods          src/api-contract src/controller-runtime/{client,informers,objects}
                                     src/kube/{names,pods,spec} src/manager/clusters topology/snapshot
src/manager/kubernetes/objects       failover/{flows,judge/*,protocol} src/controller-runtime/{changes,client,objects}
                                     src/kube/{app,certificates,names,objects,pods,primary,router,secrets,spec}
                                     src/manager/kubernetes/status src/manager/{loop,options} topology/snapshot
src/manager/kubernetes/loops         failover/protocol src/controller-runtime/{client,informers,objects} src/{api-contract,store}
                                     src/kube/{app,certificates,names,platform,pods,primary,secrets,spec}
                                     src/manager/kubernetes/{objects,status} src/manager/{clusters,hooks,loop}
src/manager/kubernetes/backups       src/controller-runtime/{changes,client,controller,events,informers,objects}
                                     src/kube/{backup,names,spec} src/manager/clusters topology/snapshot
src/manager/kubernetes/apps          src/controller-runtime/{changes,client,controller,events,informers,objects}
                                     src/kube/{app,names,objects,pods,primary} src/manager/kubernetes/objects
src/manager/kubernetes               failover/protocol src/api-contract topology/snapshot
                                     src/controller-runtime/{changes,client,controller,events,informers,kube-config}
                                     src/controller-runtime/{leader,objects,runnables}
                                     src/kube/{admission,app,backup,certificates,definition,injection,names,objects}
                                     src/kube/{pods,primary,secrets,spec} src/manager/{api,clusters,options,servers}
                                     src/manager/kubernetes/{apps,backups,loops,memory,objects,pod-events,pods,status}
                                     src/orchestrator
src/cli/commands/operations          failover/judge src/api-contract src/cli/{connection,terminal}
src/cli/commands/programs            agents agents/{instance,lifecycle} failover/protocol src/{manager,router}
                                     src/cli/terminal src/local/{files,folder} src/manager/{kubernetes,options}
                                     src/router/kubernetes
src/cli/commands/views               failover/judge failover/protocol src/api-contract src/cli/{connection,terminal}
                                     topology/snapshot
src/cli/local/show                   src/api-contract src/cli/{connection,terminal}
                                     src/local/{clusters,files,folder,logs,platform,processes,supervisor}
src/cli/local/sql                    agents/instance src/cli/local/show src/cli/terminal
                                     src/local/{clusters,files,folder,packages,platform}
src/cli/local/up                     agents/{instance,mysqld} failover/protocol src/{api-contract,store}
                                     src/cli/local/show src/cli/{commands/*,connection,terminal}
                                     src/local/{addresses,clusters,files,folder,logs,packages,supervisor}
src/cli/backup                       failover/protocol src/{api-contract,object-store}
                                     src/backup/{keys,objects,restore,retention,transfer}
                                     src/cli/{connection,terminal} src/local/{clusters,folder} topology/snapshot
src/cli/local                        failover/protocol src/{api-contract,store} src/backup/{restore,transfer}
                                     src/cli/{backup,commands/*,connection,terminal} src/cli/local/{show,sql,up}
                                     src/local/{addresses,clusters,faults,files,folder,packages,platform}
                                     src/local/{processes,supervisor}
src/cli/adopt                        agents/far/adopting src/adopt src/adopt/{origin,serve,servers,watch}
                                     src/api-contract src/store src/cli/{commands/*,connection,terminal} src/cli/local/up
                                     src/local/{addresses,clusters,files,folder,processes,supervisor}
src/cli                              src/cli/{adopt,backup,commands/*,local,terminal}
src                                  src/cli src/cli/terminal src/local/files
`

/** A row in one line, its words in full: `{ 'topology/group': ['topology/snapshot'] }`. */
export const rooms = Object.fromEntries(
  table
    .replaceAll(/\n {2,}/g, ' ')
    .trim()
    .split('\n')
    .map((row) => row.split(/ +/))
    .map(([room, ...words], _, rows) => [room, words.flatMap(inFull).flatMap((word) => roomsOf(word, rows))]),
)

function inFull(word) {
  const [, parent, names] = /^(.*)\{(.*)\}$/.exec(word) ?? []
  return names === undefined ? [word] : names.split(',').map((name) => parent + name)
}

function roomsOf(word, rows) {
  if (!word.endsWith('/*')) return [word]
  const [parent, within] = [word.slice(0, -2), word.slice(0, -1)]
  return rows.map(([room]) => room).filter((room) => room === parent || room.startsWith(within))
}

/** Tests, and what tests share: these look into all rooms of their house, and of houses where their house looks. */
const isTest = /(?:\.test|(?:^|\/)testing[a-z-]*)\.ts$|\/analysis\/cases\//

/** A house is a folder of rooms: `agents`, `failover`, `topology`, and each folder in `src`. */
const houseOf = (room) => /^(?:src\/)?[^/]*/.exec(room)[0]

const leaves = 'src/common'

/** Houses that the tests of a house look into besides: the other side of a wire, and examples. */
const testsAlsoImport = {
  agents: ['src/controller-runtime'],
  failover: ['topology'],
  'src/manager': ['agents', 'src/certificates'],
  'src/router': ['src/certificates'],
}

function mayImport(file, here, there) {
  if (houseOf(there) === leaves && houseOf(here) !== leaves) return here in rooms || isTest.test(file)
  if (!isTest.test(file)) return rooms[here]?.includes(there)
  const neighbours = [houseOf(here), 'test', ...(testsAlsoImport[houseOf(here)] ?? [])]
  if (neighbours.includes(houseOf(there))) return true
  const looksThere = (word) => houseOf(word) === houseOf(there)
  return Object.entries(rooms).some(([room, imports]) => houseOf(room) === houseOf(here) && imports.some(looksThere))
}

/** A room that is not listed, or names itself or a room below its line, is refused before anything is checked. */
function checkFloors() {
  const seen = new Set()
  for (const [room, imports] of Object.entries(rooms)) {
    const stray = imports.find((word) => !seen.has(word))
    if (stray !== undefined)
      throw new Error(`scripts/lint/rooms.js: ${room} may not import ${stray}: circle or arrow up`)
    seen.add(room)
  }
}

/** ESLint rule: an import stays in its room or goes to a room that the table allows. */
export function roomsRule(root) {
  checkFloors()
  const roomOf = (file) => relative(root, dirname(file)).split(sep).join('/')
  const places = Object.entries(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).imports)
  /** Where `#failover/…` of package.json's `imports`, or `./…`, lies. */
  const fileOf = (name, from) => {
    const [word, place] = places.find(([word]) => name.startsWith(word.slice(0, -1))) ?? []
    return word === undefined ? join(dirname(from), name) : join(root, place.slice(0, -1), name.slice(word.length - 1))
  }
  return {
    create(context) {
      const file = relative(root, context.filename).split(sep).join('/')
      const here = roomOf(context.filename)
      const check = (node) => {
        const to = node.source?.value
        if (typeof to !== 'string' || !/^[.#].*\.ts$/.test(to)) return
        if (to.startsWith('../../')) context.report({ node, message: `${to} climbs: name the house, as in #common/…` })
        const there = roomOf(fileOf(to, context.filename))
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
