import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findKubeConnection } from './kube-config.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-config-'))
})

afterEach(() => rm(folder, { recursive: true }))

async function serviceAccount(token: string): Promise<string> {
  const path = join(folder, 'account')
  await mkdir(path, { recursive: true })
  await writeFile(join(path, 'token'), `${token}\n`)
  await writeFile(join(path, 'ca.crt'), 'the CA')
  await writeFile(join(path, 'namespace'), 'prod\n')
  return path
}

async function kubeconfig(name: string, cluster: object, user: object): Promise<string> {
  const path = join(folder, name)
  await mkdir(join(path, '..'), { recursive: true })
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'here', user: 'me', namespace: 'team' } }],
    clusters: [{ name: 'here', cluster }],
    users: [{ name: 'me', user }],
  }
  await writeFile(path, JSON.stringify(config))
  return path
}

const inPod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' }

describe('in a pod', () => {
  test('the service account says who and where', async () => {
    const serviceAccountFolder = await serviceAccount('first')
    const connection = await findKubeConnection({
      clock: virtualWorld().clock,
      env: inPod,
      home: folder,
      serviceAccountFolder,
    })
    expect([connection.server, connection.namespace]).toEqual(['https://10.96.0.1:6443', 'prod'])
    expect(await connection.credentials()).toEqual({
      headers: { authorization: 'Bearer first' },
      tls: { ca: 'the CA' },
    })
  })

  test('a token that the kubelet renewed is read within a minute, and at once when the old one was refused', async () => {
    const world = virtualWorld()
    const serviceAccountFolder = await serviceAccount('first')
    const connection = await findKubeConnection({ clock: world.clock, env: inPod, home: folder, serviceAccountFolder })
    await serviceAccount('second')
    const token = async (fresh: boolean): Promise<string | undefined> =>
      (await connection.credentials(fresh)).headers['authorization']
    expect(await token(false)).toBe('Bearer first')
    expect(await token(true)).toBe('Bearer second')
    await serviceAccount('third')
    await world.advance(60_000)
    expect(await token(false)).toBe('Bearer third')
  })

  test('an IPv6 address gets its brackets', async () => {
    const serviceAccountFolder = await serviceAccount('first')
    const connection = await findKubeConnection({
      clock: virtualWorld().clock,
      env: { KUBERNETES_SERVICE_HOST: 'fd00::1' },
      home: folder,
      serviceAccountFolder,
    })
    expect(connection.server).toBe('https://[fd00::1]:443')
  })

  test('a pod without a service account is told so at its start', async () => {
    const asked = findKubeConnection({
      clock: virtualWorld().clock,
      env: inPod,
      home: folder,
      serviceAccountFolder: join(folder, 'none'),
    })
    await expect(asked).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
      message: expect.stringContaining(join(folder, 'none')) as string,
    })
  })
})

test('a pod never loads the 90 MB of the Kubernetes client library, a kubeconfig does', async () => {
  const serviceAccountFolder = await serviceAccount('first')
  const path = await kubeconfig('one', { server: 'https://here' }, { token: 't' })
  const script = `
    const { registerHooks } = await import('node:module')
    const seen = []
    registerHooks({ resolve: (name, context, next) => (seen.push(name), next(name, context)) })
    const { findKubeConnection } = await import(${JSON.stringify(new URL('./kube-config.ts', import.meta.url).href)})
    await import(${JSON.stringify(new URL('../client/http-kube-client.ts', import.meta.url).href)})
    const loaded = () => seen.some((name) => name.startsWith('@kubernetes/'))
    const clock = { monotonicMs: () => 0, wallMs: () => 0 }
    await findKubeConnection({ clock, env: { KUBERNETES_SERVICE_HOST: 'here' }, serviceAccountFolder: ${JSON.stringify(serviceAccountFolder)} })
    const inPod = loaded()
    await findKubeConnection({ clock, kubeconfig: ${JSON.stringify(path)} })
    console.log(JSON.stringify([inPod, loaded()]))`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--no-warnings',
    '--eval',
    script,
  ])
  expect(JSON.parse(stdout)).toEqual([false, true])
})

describe('with a kubeconfig', () => {
  const clock = virtualWorld().clock

  test('the file given wins over KUBECONFIG, which wins over the pod, which wins over the home folder', async () => {
    const serviceAccountFolder = await serviceAccount('first')
    const given = await kubeconfig('given', { server: 'https://given' }, { token: 't' })
    const named = await kubeconfig('named', { server: 'https://named' }, { token: 't' })
    await kubeconfig('.kube/config', { server: 'https://home' }, { token: 't' })
    const server = async (sources: { kubeconfig?: string; env: NodeJS.ProcessEnv }): Promise<string> =>
      (await findKubeConnection({ clock, home: folder, serviceAccountFolder, ...sources })).server
    expect(await server({ kubeconfig: given, env: { ...inPod, KUBECONFIG: named } })).toBe('https://given')
    expect(await server({ env: { ...inPod, KUBECONFIG: named } })).toBe('https://named')
    expect(await server({ env: inPod })).toBe('https://10.96.0.1:6443')
    expect(await server({ env: {} })).toBe('https://home')
  })

  test('a token, a CA and client certificates come through', async () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const path = await kubeconfig(
      'one',
      { server: 'https://here:6443/', 'certificate-authority-data': base64('the CA') },
      { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key'), token: 'abc' },
    )
    const connection = await findKubeConnection({ clock, kubeconfig: path })
    expect([connection.server, connection.namespace]).toEqual(['https://here:6443', 'team'])
    expect(await connection.credentials()).toEqual({
      headers: { authorization: 'Bearer abc' },
      tls: { ca: 'the CA', cert: 'cert', key: 'key' },
    })
  })

  test('a credential plugin is run once, and again when its token was refused', async () => {
    const answer = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-plugin' },
    }
    const runs = join(folder, 'runs')
    const args = ['-c', `echo run >> ${runs}; echo '${JSON.stringify(answer)}'`]
    const path = await kubeconfig(
      'one',
      { server: 'https://here' },
      { exec: { apiVersion: answer.apiVersion, command: 'sh', args } },
    )
    const connection = await findKubeConnection({ clock, kubeconfig: path })
    for (let asked = 0; asked < 2; asked++)
      expect((await connection.credentials()).headers).toEqual({ authorization: 'Bearer from-plugin' })
    expect(await readFile(runs, 'utf8')).toBe('run\n')
    await connection.credentials(true)
    expect(await readFile(runs, 'utf8')).toBe('run\nrun\n')
  })

  test('plain HTTP, as kubectl proxy offers it, is allowed', async () => {
    const path = await kubeconfig('one', { server: 'http://127.0.0.1:8001' }, {})
    const connection = await findKubeConnection({ clock, kubeconfig: path })
    expect((await connection.credentials()).headers).toEqual({})
  })

  test('of two files the first that names something wins', async () => {
    const first = await kubeconfig('first', { server: 'https://first' }, { token: 't' })
    const second = await kubeconfig('second', { server: 'https://second' }, { token: 't' })
    expect((await findKubeConnection({ clock, home: folder, env: { KUBECONFIG: `${first}:${second}` } })).server).toBe(
      'https://first',
    )
  })

  test('a context that is named takes the place of the current one and of a pod’s service account; one that is not there is refused, with those that are', async () => {
    const path = await kubeconfig('one', { server: 'https://here' }, { token: 't' })
    const config = JSON.parse(await readFile(path, 'utf8')) as { contexts: object[]; clusters: object[] }
    config.contexts.push({ name: 'other', context: { cluster: 'there', user: 'me', namespace: 'shops' } })
    config.clusters.push({ name: 'there', cluster: { server: 'https://there' } })
    await writeFile(path, JSON.stringify(config))
    const asked = (context: string) =>
      findKubeConnection({ clock, home: folder, env: { ...inPod, KUBECONFIG: path }, context })
    const connection = await asked('other')
    expect([connection.server, connection.namespace]).toEqual(['https://there', 'shops'])
    expect((await connection.credentials(true)).headers).toEqual({ authorization: 'Bearer t' })
    await expect(asked('third')).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
      message: `${path}: there is no context "third"; there is: main, other`,
    })
    await expect(findKubeConnection({ clock, home: folder, env: inPod, context: 'other' })).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
    })
  })

  test('a kubeconfig may come through a pipe, also when its credentials are asked for anew', async () => {
    const [pipe, file] = [join(folder, 'pipe'), await kubeconfig('config', { server: 'https://there' }, { token: 't' })]
    await promisify(execFile)('mkfifo', [pipe])
    const [connection] = await Promise.all([
      findKubeConnection({ clock, kubeconfig: pipe }),
      readFile(file).then((text) => writeFile(pipe, text)),
    ])
    expect((await connection.credentials(true)).headers).toEqual({ authorization: 'Bearer t' })
  })

  test.each(['/dev/full', '/dev/zero'])('%s, which has no end, is refused as a kubeconfig', async (device) => {
    await expect(findKubeConnection({ clock, kubeconfig: device })).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
      message: `${device} cannot be used as a kubeconfig: it is larger than 4194304 bytes`,
    })
  })

  test('a kubeconfig without a current context, or one that leads nowhere, is refused with what is there', async () => {
    const path = await kubeconfig('one', { server: 'https://here' }, { token: 't' })
    const whole = JSON.parse(await readFile(path, 'utf8')) as object
    const refusal = async (change: object) => {
      await writeFile(path, JSON.stringify({ ...whole, ...change }))
      return findKubeConnection({ clock, home: folder, env: { KUBECONFIG: path } }).then(
        () => '',
        (error: Error) => error.message.replace(path, 'FILE'),
      )
    }
    expect(await refusal({ 'current-context': '' })).toBe(
      'FILE: no context is the current one; there is: main. Name one with --context, or with "kubectl config use-context"',
    )
    expect(await refusal({ 'current-context': 'gone' })).toBe('FILE: there is no context "gone"; there is: main')
    expect(await refusal({ clusters: [] })).toBe(
      'FILE: context "main" leads to cluster "here", which is not there; there is: none',
    )
  })

  test('a program for credentials that is not there is named, with what to do', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'no-such-plugin', interactiveMode: 'Never' }
    const path = await kubeconfig('one', { server: 'https://here' }, { exec })
    const connection = await findKubeConnection({ clock, home: folder, env: { KUBECONFIG: path } })
    await expect(connection.credentials()).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
      message: `${path}: credentials of user "me": the program no-such-plugin is not there; install that, or put its folder on PATH`,
    })
  })

  test('no file, a broken one and a context that names nothing are refused with the file’s name', async () => {
    const broken = join(folder, 'broken')
    await writeFile(broken, '{')
    const empty = join(folder, 'empty')
    await writeFile(empty, JSON.stringify({ clusters: [], users: [], contexts: [], 'current-context': 'gone' }))
    for (const path of [join(folder, 'missing'), broken, empty]) {
      await expect(findKubeConnection({ clock, kubeconfig: path })).rejects.toMatchObject({
        code: 'REGENT_KUBE_CONFIG',
        message: expect.stringContaining(path) as string,
      })
    }
    await expect(findKubeConnection({ clock, home: folder, env: {} })).rejects.toMatchObject({
      code: 'REGENT_KUBE_CONFIG',
    })
  })
})
