/** The files that make a node out of the common root file system. */
import { GATEWAY, type LabNode, NODES, POD_NETWORK, PORTS, SERVICE_ADDRESS } from './config.js'

const units = '/etc/systemd/system'

/** Content by path; all 0644 but for keys, which the caller copies. */
export function nodeFiles(node: LabNode): Record<string, string> {
  return {
    '/etc/hostname': `${node.name}\n`,
    // Empty: systemd makes a new one, so that the nodes differ.
    '/etc/machine-id': '',
    '/usr/local/sbin/lab-network': network(node),
    [`${units}/lab-network.service`]: unit({
      Unit: { Before: 'containerd.service kubelet.service ssh.service' },
      Service: { Type: 'oneshot', RemainAfterExit: 'yes', ExecStart: '/bin/sh /usr/local/sbin/lab-network' },
    }),
    '/usr/local/sbin/lab-images': `set -eu
for i in $(seq 100); do ctr version >/dev/null 2>&1 && break; sleep 0.2; done
for i in ${BOOT_IMAGES.join(' ')}; do ctr -n k8s.io images import ${IMAGES}/$i.tar; done
`,
    [`${units}/kubelet.service`]: unit({
      Unit: { After: 'containerd.service lab-network.service', StartLimitIntervalSec: '0' },
      Service: {
        ExecStartPre: '/bin/sh /usr/local/sbin/lab-images',
        ExecStart: `/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.json --kubeconfig=/etc/kubernetes/node.kubeconfig --node-ip=${node.address} --hostname-override=${node.name}`,
        Restart: 'always',
        RestartSec: '1',
      },
    }),
    '/etc/cni/net.d/10-lab.conflist': JSON.stringify({
      cniVersion: '0.4.0',
      name: 'lab',
      plugins: [
        {
          type: 'bridge',
          bridge: 'cni0',
          isGateway: true,
          ipMasq: false,
          ipam: { type: 'host-local', subnet: node.podSubnet, routes: [{ dst: '0.0.0.0/0' }] },
        },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    }),
    '/etc/containerd/config.toml': `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "example.com/kubectl-storage/pause:lab"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`,
    '/etc/kubernetes/kubelet.json': JSON.stringify(kubelet),
  }
}

/** Where a node finds the cache's images. */
export const IMAGES = '/var/lib/lab/images'

/** Small, and in every scene; larger ones come when they are asked for. */
const BOOT_IMAGES = ['pause', 'busybox', 'busybox-1.37']

/** Services that start with the node, beside those of the packages. */
export const ENABLED = ['lab-network.service', 'kubelet.service']

const kubelet = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/ca.crt' },
  },
  authorization: { mode: 'Webhook' },
  tlsCertFile: '/etc/kubernetes/node.crt',
  tlsPrivateKeyFile: '/etc/kubernetes/node.key',
  cgroupDriver: 'cgroupfs',
  failSwapOn: false,
  failCgroupV1: false,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  // The nodes share one kernel; none may take the machine's memory for its own.
  cgroupsPerQOS: false,
  enforceNodeAllocatable: [],
  localStorageCapacityIsolation: true,
  evictionHard: {
    'memory.available': '10Mi',
    'nodefs.available': '1%',
    'imagefs.available': '1%',
    'nodefs.inodesFree': '1%',
  },
  // There is no registry to get an image back from.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  resolvConf: '',
  syncFrequency: '5s',
  nodeStatusUpdateFrequency: '4s',
}

/** Addresses and routes, no DNS and no kube-proxy: the one service address that matters is rewritten. */
function network(node: LabNode): string {
  const others = NODES.filter(({ name }) => name !== node.name)
  const service = `-d ${SERVICE_ADDRESS} -p tcp --dport 443 -j DNAT --to ${GATEWAY}:${PORTS['API server']}`
  return `set -eu
# systemd-nspawn mounts these read-only; containerd and the kubelet write there.
for c in /sys/fs/cgroup/* /sys/fs/cgroup /proc/sys; do
  if [ -d "$c" ]; then mount -o remount,bind,rw "$c" 2>/dev/null || true; fi
done
mount --make-rshared /
ip addr add ${node.address}/24 dev host0
ip link set host0 up
ip route add default via ${GATEWAY}
${others.map(({ podSubnet, address }) => `ip route add ${podSubnet} via ${address}`).join('\n')}
sysctl -qw net.ipv4.ip_forward=1
iptables -t nat -A PREROUTING ${service}
iptables -t nat -A OUTPUT ${service}
iptables -t nat -A POSTROUTING -s ${node.podSubnet} ! -d ${POD_NETWORK} -j MASQUERADE
`
}

function unit(sections: Record<string, Record<string, string>>): string {
  return Object.entries(sections)
    .map(([name, settings]) =>
      [`[${name}]`, ...Object.entries(settings).map(([key, value]) => `${key}=${value}`)].join('\n'),
    )
    .join('\n')
    .concat('\n')
}
