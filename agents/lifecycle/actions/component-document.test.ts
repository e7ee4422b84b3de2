import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, afterAll, beforeEach, describe, expect, it } from 'vitest'
import { callAction, LifecycleAgent, outputOf } from '#test/support/lifecycle-agent.ts'
import { mayHaveOwnPaths, withOwnPaths } from '#test/support/own-paths.ts'
import { readActions } from '../configuration/configuration.ts'
import { saidBy, testingActions } from '../testing.ts'

/**
 * A `KB_AGENT_ACTION` as the component of a MySQL server has one: scripts in one line of JSON, with the escapes that Go
 * writes, quotes in quotes, here-strings, and variables of the call, the pod and the cluster. The programs that these
 * scripts call are stand-ins that write down how they were called.
 */
const document = String.raw`[
{"name":"postProvision","exec":{"command":["bash","-c","orchestrator-client -c discover -i \"$KB_AGENT_POD_NAME\" \u0026\u0026 echo -n \"known as ${'$'}{CLUSTER_NAME}\""]},"timeoutSeconds":20,"retryPolicy":{"maxRetries":2,"retryInterval":1000000}},
{"name":"preTerminate","exec":{"command":["bash","-c","curl \"http://${'$'}{ORC_ENDPOINTS%%:*}:${'$'}{ORC_PORTS}/api/forget-cluster/${'$'}CLUSTER_NAME\" || true"]}},
{"name":"memberLeave","exec":{"command":["/bin/bash","-c","set +e\nleader=$(orchestrator-client -c which-cluster-master -i $CLUSTER_NAME)\nordinal=${'$'}{KB_LEAVE_MEMBER_POD_NAME##*-}\nleaver=$(echo \"${'$'}{COMPONENT}_mysql_${'$'}{ordinal}\" | tr '_' '-' | tr '[:upper:]' '[:lower:]')\nif [ \"${'$'}{leaver%%:*}\" == \"${'$'}{leader%%:*}\" ]; then\n  orchestrator-client -c force-master-failover -i $CLUSTER_NAME\nfi\norchestrator-client -c forget -i ${'$'}{leaver}\n"]}},
{"name":"accountProvision","exec":{"command":["/bin/sh","-c","set -e\neval statement=\\\"${'$'}{KB_ACCOUNT_STATEMENT}\\\"\nmysql -u${'$'}{MYSQL_ROOT_USER} -p${'$'}{MYSQL_ROOT_PASSWORD} -P3306 -h127.0.0.1 -e \"${'$'}{statement}\"\n"]}},
{"name":"roleProbe","exec":{"command":["/bin/bash","-c","lines=$(orchestrator-client -c topology -i $CLUSTER_NAME) || true\nif [[ -z $lines ]]; then\n  echo -n \"secondary\"\n  exit 0\nfi\nfirst=$(echo \"$lines\" | head -n 1)\nIFS=',' read -ra words \u003c\u003c\u003c \"$(echo \"$first\" | tr -d '[]')\"\nif [ \"${'$'}{words[1]}\" != \"ok\" ]; then\n  exit 0\nfi\naddress=$(echo \"$first\" | awk '{print $1}')\nif [ \"${'$'}{address%:*}\" == \"shop-mysql-${'$'}{KB_AGENT_POD_NAME##*-}\" ]; then\n  echo -n \"primary\"\nelse\n  echo -n \"secondary\"\nfi\n"]},"timeoutSeconds":5}
]`

let folder: string
let count = 0

/** A program that writes its arguments down, one a line, and answers with what `answers` says of the second. */
async function standIn(name: string, answers: string, at = folder): Promise<void> {
  const script = `#!/bin/bash\nprintf '%s\\n' ${name} "$@" >> "$CALLS"\n${answers}\n`
  await writeFile(join(at, name), script)
  await chmod(join(at, name), 0o755)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  await standIn(
    'orchestrator-client',
    'case $2 in which-cluster-master) echo "shop-mysql-0:3306";; topology) printf "%s" "$TOPOLOGY";; esac',
  )
  await standIn('mysql', 'exit 0')
  await standIn('curl', 'exit 7')
})

afterAll(() => rm(folder, { recursive: true }))

async function run(action: string, request: object = {}, more: Readonly<Record<string, string>> = {}) {
  const calls = join(folder, `calls-${(count += 1)}`)
  await writeFile(calls, '')
  const environment = {
    PATH: `${folder}:${process.env['PATH']}`,
    CALLS: calls,
    KB_AGENT_POD_NAME: 'shop-mysql-0',
    CLUSTER_NAME: 'shop',
    COMPONENT: 'SHOP',
    ORC_ENDPOINTS: 'orc.shops:80,other:80',
    ORC_PORTS: '3000',
    MYSQL_ROOT_USER: 'root',
    MYSQL_ROOT_PASSWORD: "it's $ecret",
    ...more,
  }
  const actions = [...readActions({ KB_AGENT_ACTION: document }).values()]
  const { desk } = testingActions(actions, { environment })
  const result = await desk.call({ action, ...request })
  return { said: saidBy(result), ok: result.ok, calls: (await readFile(calls, 'utf8')).trim().split('\n') }
}

describe('the actions of a MySQL component', () => {
  it('register the pod', async () => {
    expect(await run('postProvision')).toEqual({
      ok: true,
      said: 'known as shop',
      calls: ['orchestrator-client', '-c', 'discover', '-i', 'shop-mysql-0'],
    })
  })

  it('forget the cluster, whatever the program says', async () => {
    expect(await run('preTerminate')).toEqual({
      ok: true,
      said: '',
      calls: ['curl', 'http://orc.shops:3000/api/forget-cluster/shop'],
    })
  })

  it.each([
    ['shop-mysql-1', false],
    ['shop-mysql-0', true],
  ])('let member %s leave, and fail over first where it leads: %j', async (leaver, leads) => {
    const { ok, calls } = await run('memberLeave', { parameters: { KB_LEAVE_MEMBER_POD_NAME: leaver } })
    expect([ok, calls.includes('force-master-failover')]).toEqual([true, leads])
    expect(calls.slice(-4)).toEqual(['-c', 'forget', '-i', leaver])
  })

  it('provision an account with a statement full of quotes, as one argument', async () => {
    const statement = "CREATE USER 'app'@'%' IDENTIFIED BY 'p;a\\\\s s'; GRANT ALL ON app.* TO 'app'@'%'"
    const { ok, calls } = await run('accountProvision', { parameters: { KB_ACCOUNT_STATEMENT: statement } })
    expect([ok, calls.slice(0, 2), calls.at(-2), calls.at(-1)]).toEqual([
      true,
      ['mysql', '-uroot'],
      '-e',
      statement.replace('\\\\', '\\'),
    ])
  })

  it.each([
    ['', 'secondary'],
    ['shop-mysql-0:3306 [0s,ok,8.0.45]\n+ shop-mysql-1:3306 [0s,ok,8.0.45]', 'primary'],
    ['shop-mysql-1:3306 [0s,ok,8.0.45]', 'secondary'],
    ['shop-mysql-0:3306 [0s,nonreplicating,8.0.45]', ''],
  ])('tell the role by the topology %j', async (topology, role) => {
    expect(await run('roleProbe', {}, { TOPOLOGY: topology })).toMatchObject({ ok: true, said: role })
  })
})

const documentFile = process.env['REGENT_KB_AGENT_ACTION_FILE']

/**
 * The document of a real component, whose five actions register with orchestrator and ask orchestrator. Run by the
 * shipped agent, from the environment, byte for byte. The scripts call programs by absolute paths that this machine
 * does not have: the agent gets a root of its own, in which these programs are stand-ins.
 */
describe.runIf(documentFile !== undefined)('the actions of the document that REGENT_KB_AGENT_ACTION_FILE names', () => {
  const [pod, service] = ['shop-mysql-1', 'shop-mysql-mysql-1']
  let own: string
  let agent: LifecycleAgent
  const inOwn = (name: string): string => join(own, name)

  beforeAll(async () => {
    if (!mayHaveOwnPaths())
      throw new Error('its scripts call absolute paths: run as root, or where users may make user namespaces')
    own = await mkdtemp(join(tmpdir(), 'lifecycle-document-'))
    for (const name of ['root', 'bin', 'scripts', 'kubeblocks']) await mkdir(inOwn(name))
    await standIn('mysql', 'exit 0', inOwn('bin'))
    await standIn('curl', 'exit 7', inOwn('bin'))
    await standIn('mysql-orchestrator-register.sh', 'echo -n registered', inOwn('scripts'))
    const answers = [
      'which-cluster-master) cat "$FOLDER/primary";;',
      'force-master-failover) echo another:3306 > "$FOLDER/primary";;',
      'topology) cat "$FOLDER/topology";;',
    ]
    await standIn('orchestrator-client', `case $2 in ${answers.join(' ')} esac`, inOwn('kubeblocks'))
    const folders = { '/scripts': inOwn('scripts'), '/kubeblocks': inOwn('kubeblocks') }
    agent = await LifecycleAgent.start({
      environment: {
        PATH: `${inOwn('bin')}:${process.env['PATH']}`,
        KB_AGENT_ACTION: await readFile(documentFile ?? '', 'utf8'),
        KB_AGENT_PROBE: 'null',
        KB_AGENT_POD_NAME: pod,
        CALLS: inOwn('calls'),
        FOLDER: own,
        CLUSTER_NAME: 'shop',
        CLUSTER_COMPONENT_NAME: 'SHOP_mysql',
        ORC_ENDPOINTS: 'orc.shops:80,other:80',
        ORC_PORTS: '3000',
        MYSQL_ROOT_USER: 'root',
        MYSQL_ROOT_PASSWORD: 'secret',
      },
      options: ['--open', '--unix-socket', own],
      within: withOwnPaths({ root: inOwn('root'), folders }),
    })
    await agent.said('HTTP listens')
  })

  beforeEach(async () => {
    for (const name of ['calls', 'primary', 'topology']) await writeFile(inOwn(name), '')
  })

  afterAll(async () => {
    await agent.end()
    await rm(own, { recursive: true })
  })

  async function call(action: string, parameters?: Readonly<Record<string, string>>) {
    const answer = await callAction(
      { action, ...(parameters && { parameters }) },
      { at: { socketPath: inOwn('kbagent.socket') } },
    )
    const calls = (await readFile(inOwn('calls'), 'utf8')).trim().split('\n')
    return { error: answer.message, said: outputOf(answer), calls }
  }

  it('register the pod', async () => {
    expect(await call('postProvision')).toEqual({ said: 'registered', calls: ['mysql-orchestrator-register.sh'] })
  })

  it('forget the cluster, whatever the program says', async () => {
    const calls = ['curl', 'http://orc.shops:3000/api/forget-cluster/shop']
    expect(await call('preTerminate')).toEqual({ said: '', calls })
  })

  it.each([
    [`${service}:3306`, true],
    ['shop-mysql-mysql-0:3306', false],
  ])('let a member leave under primary %s, and fail over first where the member leads: %j', async (primary, leads) => {
    await writeFile(inOwn('primary'), primary)
    const { error, calls } = await call('memberLeave', { KB_LEAVE_MEMBER_POD_NAME: pod })
    expect(error).toBeUndefined()
    expect(calls.slice(0, 5)).toEqual(['orchestrator-client', '-c', 'which-cluster-master', '-i', 'shop'])
    expect(calls.includes('force-master-failover')).toBe(leads)
    const last = ['reset-replica', 'forget'].flatMap((what) => ['orchestrator-client', '-c', what, '-i', service])
    expect(calls.slice(-10)).toEqual(last)
  })

  it('provision an account: all three parameters in one argument, quotes and all', async () => {
    const parameters = {
      KB_ACCOUNT_NAME: 'kbadmin',
      KB_ACCOUNT_PASSWORD: "it's; a pass $word",
      KB_ACCOUNT_STATEMENT:
        "CREATE USER IF NOT EXISTS '${KB_ACCOUNT_NAME}'@'%' IDENTIFIED BY '${KB_ACCOUNT_PASSWORD}'; GRANT ALL ON *.* TO '${KB_ACCOUNT_NAME}'@'%'",
    }
    const statement =
      "CREATE USER IF NOT EXISTS 'kbadmin'@'%' IDENTIFIED BY 'it's; a pass $word'; GRANT ALL ON *.* TO 'kbadmin'@'%'"
    expect(await call('accountProvision', parameters)).toEqual({
      said: '',
      calls: ['mysql', '-uroot', '-psecret', '-P3306', '-h127.0.0.1', '-e', statement],
    })
  })

  it.each([
    ['', 'secondary'],
    [`${service}:3306 [0s,ok,8.0.45,rw]\n+ shop-mysql-mysql-0:3306 [0s,ok,8.0.45,ro]`, 'primary'],
    ['shop-mysql-mysql-0:3306 [0s,ok,8.0.45,rw]', 'secondary'],
    [`${service}:3306 [0s,nonreplicating,8.0.45]`, ''],
  ])('tell the role by the topology %j', async (topology, role) => {
    await writeFile(inOwn('topology'), topology)
    const calls = ['orchestrator-client', '-c', 'topology', '-i', 'shop']
    expect(await call('roleProbe')).toEqual({ said: role, calls })
  })
})
