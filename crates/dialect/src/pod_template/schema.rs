//! The fields of a pod template as Kubernetes 1.37 knows them, down to the last volume source.
//!
//! It is a table and nothing else; [`check`](super::check) walks a value along it. When Kubernetes adds a field, it is
//! added here.

use super::check::Shape::{self, Any, Bool, Int, IntOrText, List, Map, Quantity, Text, Variable, Words};

/// Makes one constant a row: an object and its fields.
macro_rules! objects {
    ($($name:ident { $($field:tt: $shape:expr),* })*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`")]
            pub const $name: Shape = Shape::Object(&[$((stringify!($field), $shape)),*]);
        )*
    };
}

const RESTART_POLICY: Shape = Words(&["Always", "OnFailure", "Never"]);
const PULL_POLICY: Shape = Words(&["Always", "IfNotPresent", "Never"]);
const DNS_POLICY: Shape = Words(&["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]);
const PROTOCOL: Shape = Words(&["TCP", "UDP", "SCTP"]);
const MESSAGE_POLICY: Shape = Words(&["File", "FallbackToLogsOnError"]);
const PREEMPTION_POLICY: Shape = Words(&["PreemptLowerPriority", "Never"]);
const TAINT_EFFECT: Shape = Words(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
const WHEN_UNSATISFIABLE: Shape = Words(&["DoNotSchedule", "ScheduleAnyway"]);

objects! {
    POD_TEMPLATE { metadata: OBJECT_META, spec: POD_SPEC }
    OBJECT_META {
        name: Text, generateName: Text, namespace: Text, selfLink: Text, uid: Text, resourceVersion: Text,
        generation: Int, creationTimestamp: Text, deletionTimestamp: Text, deletionGracePeriodSeconds: Int,
        labels: Map(&Text), annotations: Map(&Text), ownerReferences: List(&OWNER_REFERENCE),
        finalizers: List(&Text), managedFields: List(&Any)
    }
    OWNER_REFERENCE {
        apiVersion: Text, kind: Text, name: Text, uid: Text, controller: Bool, blockOwnerDeletion: Bool
    }
    POD_SPEC {
        volumes: List(&VOLUME), initContainers: List(&CONTAINER), containers: List(&CONTAINER),
        ephemeralContainers: List(&EPHEMERAL_CONTAINER), restartPolicy: RESTART_POLICY,
        terminationGracePeriodSeconds: Int, activeDeadlineSeconds: Int, dnsPolicy: DNS_POLICY,
        nodeSelector: Map(&Text), serviceAccountName: Text, serviceAccount: Text,
        automountServiceAccountToken: Bool, nodeName: Text, hostNetwork: Bool, hostPID: Bool, hostIPC: Bool,
        shareProcessNamespace: Bool, securityContext: POD_SECURITY_CONTEXT,
        imagePullSecrets: List(&LOCAL_REFERENCE), hostname: Text, subdomain: Text, affinity: AFFINITY,
        schedulerName: Text, tolerations: List(&TOLERATION), hostAliases: List(&HOST_ALIAS),
        priorityClassName: Text, priority: Int, dnsConfig: DNS_CONFIG,
        readinessGates: List(&POD_READINESS_GATE), runtimeClassName: Text, enableServiceLinks: Bool,
        preemptionPolicy: PREEMPTION_POLICY, overhead: Map(&Quantity),
        topologySpreadConstraints: List(&TOPOLOGY_SPREAD_CONSTRAINT), setHostnameAsFQDN: Bool, os: POD_OS,
        hostUsers: Bool, schedulingGates: List(&POD_SCHEDULING_GATE),
        resourceClaims: List(&POD_RESOURCE_CLAIM), resources: RESOURCES, hostnameOverride: Text,
        schedulingGroup: POD_SCHEDULING_GROUP, evictionResponders: List(&EVICTION_RESPONDER)
    }
    VOLUME {
        name: Text, hostPath: HOST_PATH_VOLUME, emptyDir: EMPTY_DIR_VOLUME,
        gcePersistentDisk: GCE_DISK_VOLUME, awsElasticBlockStore: AWS_DISK_VOLUME, gitRepo: GIT_REPO_VOLUME,
        secret: SECRET_VOLUME, nfs: NFS_VOLUME, iscsi: ISCSI_VOLUME, glusterfs: GLUSTERFS_VOLUME,
        persistentVolumeClaim: CLAIM_VOLUME, rbd: RBD_VOLUME, flexVolume: FLEX_VOLUME, cinder: CINDER_VOLUME,
        cephfs: CEPH_FS_VOLUME, flocker: FLOCKER_VOLUME, downwardAPI: DOWNWARD_VOLUME, fc: FC_VOLUME,
        azureFile: AZURE_FILE_VOLUME, configMap: CONFIG_MAP_VOLUME, vsphereVolume: VSPHERE_VOLUME,
        quobyte: QUOBYTE_VOLUME, azureDisk: AZURE_DISK_VOLUME, photonPersistentDisk: PHOTON_VOLUME,
        projected: PROJECTED_VOLUME, portworxVolume: PORTWORX_VOLUME, scaleIO: SCALE_IO_VOLUME,
        storageos: STORAGE_OS_VOLUME, csi: CSI_VOLUME, ephemeral: EPHEMERAL_VOLUME, image: IMAGE_VOLUME
    }
    HOST_PATH_VOLUME { path: Text, type: Text }
    EMPTY_DIR_VOLUME { medium: Text, sizeLimit: Quantity, mode: Int }
    GCE_DISK_VOLUME { pdName: Text, fsType: Text, partition: Int, readOnly: Bool }
    AWS_DISK_VOLUME { volumeID: Text, fsType: Text, partition: Int, readOnly: Bool }
    GIT_REPO_VOLUME { repository: Text, revision: Text, directory: Text }
    SECRET_VOLUME {
        secretName: Text, items: List(&KEY_TO_PATH), defaultMode: Int, optional: Bool, defaultUser: Int
    }
    KEY_TO_PATH { key: Text, path: Text, mode: Int, user: Int }
    NFS_VOLUME { server: Text, path: Text, readOnly: Bool }
    ISCSI_VOLUME {
        targetPortal: Text, iqn: Text, lun: Int, iscsiInterface: Text, fsType: Text, readOnly: Bool,
        portals: List(&Text), chapAuthDiscovery: Bool, chapAuthSession: Bool, secretRef: LOCAL_REFERENCE,
        initiatorName: Text
    }
    LOCAL_REFERENCE { name: Text }
    GLUSTERFS_VOLUME { endpoints: Text, path: Text, readOnly: Bool }
    CLAIM_VOLUME { claimName: Text, readOnly: Bool }
    RBD_VOLUME {
        monitors: List(&Text), image: Text, fsType: Text, pool: Text, user: Text, keyring: Text,
        secretRef: LOCAL_REFERENCE, readOnly: Bool
    }
    FLEX_VOLUME {
        driver: Text, fsType: Text, secretRef: LOCAL_REFERENCE, readOnly: Bool, options: Map(&Text)
    }
    CINDER_VOLUME { volumeID: Text, fsType: Text, readOnly: Bool, secretRef: LOCAL_REFERENCE }
    CEPH_FS_VOLUME {
        monitors: List(&Text), path: Text, user: Text, secretFile: Text, secretRef: LOCAL_REFERENCE,
        readOnly: Bool
    }
    FLOCKER_VOLUME { datasetName: Text, datasetUUID: Text }
    DOWNWARD_VOLUME { items: List(&DOWNWARD_FILE), defaultMode: Int, defaultUser: Int }
    DOWNWARD_FILE {
        path: Text, fieldRef: OBJECT_FIELD_SELECTOR, resourceFieldRef: RESOURCE_FIELD_SELECTOR, mode: Int,
        user: Int
    }
    OBJECT_FIELD_SELECTOR { apiVersion: Text, fieldPath: Text }
    RESOURCE_FIELD_SELECTOR { containerName: Text, resource: Text, divisor: Quantity }
    FC_VOLUME { targetWWNs: List(&Text), lun: Int, fsType: Text, readOnly: Bool, wwids: List(&Text) }
    AZURE_FILE_VOLUME { secretName: Text, shareName: Text, readOnly: Bool }
    CONFIG_MAP_VOLUME {
        name: Text, items: List(&KEY_TO_PATH), defaultMode: Int, optional: Bool, defaultUser: Int
    }
    VSPHERE_VOLUME { volumePath: Text, fsType: Text, storagePolicyName: Text, storagePolicyID: Text }
    QUOBYTE_VOLUME { registry: Text, volume: Text, readOnly: Bool, user: Text, group: Text, tenant: Text }
    AZURE_DISK_VOLUME {
        diskName: Text, diskURI: Text, cachingMode: Text, fsType: Text, readOnly: Bool, kind: Text
    }
    PHOTON_VOLUME { pdID: Text, fsType: Text }
    PROJECTED_VOLUME { sources: List(&VOLUME_PROJECTION), defaultMode: Int, defaultUser: Int }
    VOLUME_PROJECTION {
        secret: SECRET_PROJECTION, downwardAPI: DOWNWARD_PROJECTION, configMap: CONFIG_MAP_PROJECTION,
        serviceAccountToken: SERVICE_ACCOUNT_TOKEN_PROJECTION,
        clusterTrustBundle: CLUSTER_TRUST_BUNDLE_PROJECTION, podCertificate: POD_CERTIFICATE_PROJECTION
    }
    SECRET_PROJECTION { name: Text, items: List(&KEY_TO_PATH), optional: Bool }
    DOWNWARD_PROJECTION { items: List(&DOWNWARD_FILE) }
    CONFIG_MAP_PROJECTION { name: Text, items: List(&KEY_TO_PATH), optional: Bool }
    SERVICE_ACCOUNT_TOKEN_PROJECTION { audience: Text, expirationSeconds: Int, path: Text, user: Int }
    CLUSTER_TRUST_BUNDLE_PROJECTION {
        name: Text, signerName: Text, labelSelector: LABEL_SELECTOR, optional: Bool, path: Text, user: Int
    }
    LABEL_SELECTOR { matchLabels: Map(&Text), matchExpressions: List(&SELECTOR_REQUIREMENT) }
    SELECTOR_REQUIREMENT { key: Text, operator: Text, values: List(&Text) }
    POD_CERTIFICATE_PROJECTION {
        signerName: Text, keyType: Text, maxExpirationSeconds: Int, credentialBundlePath: Text,
        keyPath: Text, certificateChainPath: Text, userAnnotations: Map(&Text), user: Int
    }
    PORTWORX_VOLUME { volumeID: Text, fsType: Text, readOnly: Bool }
    SCALE_IO_VOLUME {
        gateway: Text, system: Text, secretRef: LOCAL_REFERENCE, sslEnabled: Bool, protectionDomain: Text,
        storagePool: Text, storageMode: Text, volumeName: Text, fsType: Text, readOnly: Bool
    }
    STORAGE_OS_VOLUME {
        volumeName: Text, volumeNamespace: Text, fsType: Text, readOnly: Bool, secretRef: LOCAL_REFERENCE
    }
    CSI_VOLUME {
        driver: Text, readOnly: Bool, fsType: Text, volumeAttributes: Map(&Text),
        nodePublishSecretRef: LOCAL_REFERENCE
    }
    EPHEMERAL_VOLUME { volumeClaimTemplate: CLAIM_TEMPLATE }
    CLAIM_TEMPLATE { metadata: OBJECT_META, spec: CLAIM_SPEC }
    CLAIM_SPEC {
        accessModes: List(&Text), selector: LABEL_SELECTOR, resources: CLAIM_RESOURCES, volumeName: Text,
        storageClassName: Text, volumeMode: Text, dataSource: TYPED_LOCAL_REFERENCE,
        dataSourceRef: TYPED_REFERENCE, volumeAttributesClassName: Text
    }
    CLAIM_RESOURCES { limits: Map(&Quantity), requests: Map(&Quantity) }
    TYPED_LOCAL_REFERENCE { apiGroup: Text, kind: Text, name: Text }
    TYPED_REFERENCE { apiGroup: Text, kind: Text, name: Text, namespace: Text }
    IMAGE_VOLUME { reference: Text, pullPolicy: PULL_POLICY }
    CONTAINER {
        name: Text, image: Text, command: List(&Text), args: List(&Text), workingDir: Text,
        ports: List(&CONTAINER_PORT), envFrom: List(&ENV_FROM_SOURCE), env: List(&ENV_VAR),
        resources: RESOURCES, resizePolicy: List(&CONTAINER_RESIZE_POLICY), restartPolicy: RESTART_POLICY,
        restartPolicyRules: List(&RESTART_RULE), volumeMounts: List(&VOLUME_MOUNT),
        volumeDevices: List(&VOLUME_DEVICE), livenessProbe: PROBE, readinessProbe: PROBE,
        startupProbe: PROBE, lifecycle: LIFECYCLE, terminationMessagePath: Text,
        terminationMessagePolicy: MESSAGE_POLICY, imagePullPolicy: PULL_POLICY,
        securityContext: SECURITY_CONTEXT, stdin: Bool, stdinOnce: Bool, tty: Bool
    }
    CONTAINER_PORT { name: Text, hostPort: Int, containerPort: Int, protocol: PROTOCOL, hostIP: Text }
    ENV_FROM_SOURCE { prefix: Text, configMapRef: CONFIG_MAP_ENV_SOURCE, secretRef: SECRET_ENV_SOURCE }
    CONFIG_MAP_ENV_SOURCE { name: Text, optional: Bool }
    SECRET_ENV_SOURCE { name: Text, optional: Bool }
    ENV_VAR { name: Text, value: Variable, valueFrom: ENV_VAR_SOURCE }
    ENV_VAR_SOURCE {
        fieldRef: OBJECT_FIELD_SELECTOR, resourceFieldRef: RESOURCE_FIELD_SELECTOR,
        configMapKeyRef: CONFIG_MAP_KEY_SELECTOR, secretKeyRef: SECRET_KEY_SELECTOR,
        fileKeyRef: FILE_KEY_SELECTOR
    }
    CONFIG_MAP_KEY_SELECTOR { name: Text, key: Text, optional: Bool }
    SECRET_KEY_SELECTOR { name: Text, key: Text, optional: Bool }
    FILE_KEY_SELECTOR { volumeName: Text, path: Text, key: Text, optional: Bool }
    RESOURCES { limits: Map(&Quantity), requests: Map(&Quantity), claims: List(&RESOURCE_CLAIM) }
    RESOURCE_CLAIM { name: Text, request: Text }
    CONTAINER_RESIZE_POLICY { resourceName: Text, restartPolicy: Text }
    RESTART_RULE { action: Text, exitCodes: RESTART_EXIT_CODES }
    RESTART_EXIT_CODES { operator: Text, values: List(&Int) }
    VOLUME_MOUNT {
        name: Text, readOnly: Bool, recursiveReadOnly: Text, mountPath: Text, subPath: Text,
        mountPropagation: Text, subPathExpr: Text, bindMountOptions: List(&Text)
    }
    VOLUME_DEVICE { name: Text, devicePath: Text }
    PROBE {
        exec: EXEC_ACTION, httpGet: HTTP_GET_ACTION, tcpSocket: TCP_SOCKET_ACTION, grpc: GRPC_ACTION,
        initialDelaySeconds: Int, timeoutSeconds: Int, periodSeconds: Int, successThreshold: Int,
        failureThreshold: Int, terminationGracePeriodSeconds: Int
    }
    EXEC_ACTION { command: List(&Text) }
    HTTP_GET_ACTION {
        path: Text, port: IntOrText, host: Text, scheme: Text, httpHeaders: List(&HTTP_HEADER),
        protocol: Text
    }
    HTTP_HEADER { name: Text, value: Text }
    TCP_SOCKET_ACTION { port: IntOrText, host: Text }
    GRPC_ACTION { port: Int, service: Text, mode: Text }
    LIFECYCLE { postStart: LIFECYCLE_HANDLER, preStop: LIFECYCLE_HANDLER, stopSignal: Text }
    LIFECYCLE_HANDLER {
        exec: EXEC_ACTION, httpGet: HTTP_GET_ACTION, tcpSocket: TCP_SOCKET_ACTION, sleep: SLEEP_ACTION
    }
    SLEEP_ACTION { seconds: Int }
    SECURITY_CONTEXT {
        capabilities: CAPABILITIES, privileged: Bool, seLinuxOptions: SELINUX_OPTIONS,
        windowsOptions: WINDOWS_OPTIONS, runAsUser: Int, runAsGroup: Int, runAsNonRoot: Bool,
        readOnlyRootFilesystem: Bool, allowPrivilegeEscalation: Bool, procMount: Text,
        seccompProfile: SECCOMP_PROFILE, appArmorProfile: APP_ARMOR_PROFILE
    }
    CAPABILITIES { add: List(&Text), drop: List(&Text) }
    SELINUX_OPTIONS { user: Text, role: Text, type: Text, level: Text }
    WINDOWS_OPTIONS {
        gmsaCredentialSpecName: Text, gmsaCredentialSpec: Text, runAsUserName: Text, hostProcess: Bool
    }
    SECCOMP_PROFILE { type: Text, localhostProfile: Text }
    APP_ARMOR_PROFILE { type: Text, localhostProfile: Text }
    EPHEMERAL_CONTAINER {
        name: Text, image: Text, command: List(&Text), args: List(&Text), workingDir: Text,
        ports: List(&CONTAINER_PORT), envFrom: List(&ENV_FROM_SOURCE), env: List(&ENV_VAR),
        resources: RESOURCES, resizePolicy: List(&CONTAINER_RESIZE_POLICY), restartPolicy: Text,
        restartPolicyRules: List(&RESTART_RULE), volumeMounts: List(&VOLUME_MOUNT),
        volumeDevices: List(&VOLUME_DEVICE), livenessProbe: PROBE, readinessProbe: PROBE,
        startupProbe: PROBE, lifecycle: LIFECYCLE, terminationMessagePath: Text,
        terminationMessagePolicy: Text, imagePullPolicy: PULL_POLICY, securityContext: SECURITY_CONTEXT,
        stdin: Bool, stdinOnce: Bool, tty: Bool, targetContainerName: Text
    }
    POD_SECURITY_CONTEXT {
        seLinuxOptions: SELINUX_OPTIONS, windowsOptions: WINDOWS_OPTIONS, runAsUser: Int, runAsGroup: Int,
        runAsNonRoot: Bool, supplementalGroups: List(&Int), supplementalGroupsPolicy: Text, fsGroup: Int,
        sysctls: List(&SYSCTL), fsGroupChangePolicy: Text, seccompProfile: SECCOMP_PROFILE,
        appArmorProfile: APP_ARMOR_PROFILE, seLinuxChangePolicy: Text
    }
    SYSCTL { name: Text, value: Text }
    AFFINITY { nodeAffinity: NODE_AFFINITY, podAffinity: POD_AFFINITY, podAntiAffinity: POD_AFFINITY }
    NODE_AFFINITY {
        requiredDuringSchedulingIgnoredDuringExecution: NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution: List(&PREFERRED_SCHEDULING_TERM)
    }
    NODE_SELECTOR { nodeSelectorTerms: List(&NODE_SELECTOR_TERM) }
    NODE_SELECTOR_TERM {
        matchExpressions: List(&SELECTOR_REQUIREMENT), matchFields: List(&SELECTOR_REQUIREMENT)
    }
    PREFERRED_SCHEDULING_TERM { weight: Int, preference: NODE_SELECTOR_TERM }
    POD_AFFINITY {
        requiredDuringSchedulingIgnoredDuringExecution: List(&POD_AFFINITY_TERM),
        preferredDuringSchedulingIgnoredDuringExecution: List(&WEIGHTED_POD_AFFINITY_TERM)
    }
    POD_AFFINITY_TERM {
        labelSelector: LABEL_SELECTOR, namespaces: List(&Text), topologyKey: Text,
        namespaceSelector: LABEL_SELECTOR, matchLabelKeys: List(&Text), mismatchLabelKeys: List(&Text)
    }
    WEIGHTED_POD_AFFINITY_TERM { weight: Int, podAffinityTerm: POD_AFFINITY_TERM }
    TOLERATION { key: Text, operator: Text, value: Text, effect: TAINT_EFFECT, tolerationSeconds: Int }
    HOST_ALIAS { ip: Text, hostnames: List(&Text) }
    DNS_CONFIG { nameservers: List(&Text), searches: List(&Text), options: List(&DNS_OPTION) }
    DNS_OPTION { name: Text, value: Text }
    POD_READINESS_GATE { conditionType: Text }
    TOPOLOGY_SPREAD_CONSTRAINT {
        maxSkew: Int, topologyKey: Text, whenUnsatisfiable: WHEN_UNSATISFIABLE,
        labelSelector: LABEL_SELECTOR, minDomains: Int, nodeAffinityPolicy: Text, nodeTaintsPolicy: Text,
        matchLabelKeys: List(&Text)
    }
    POD_OS { name: Text }
    POD_SCHEDULING_GATE { name: Text }
    POD_RESOURCE_CLAIM { name: Text, resourceClaimName: Text, resourceClaimTemplateName: Text }
    POD_SCHEDULING_GROUP { podGroupName: Text }
    EVICTION_RESPONDER { name: Text, priority: Int }
}
