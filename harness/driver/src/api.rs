//! The one table of driver calls.
//!
//! Every driver function that cudarc (any CUDA version it knows) or cust declares is here, once.
//! *Typed* functions are emulated, and recorded where the brackets say what to record; *own* ones are
//! written out in `exports.rs`; *bare* ones are jumps into the system's driver and return
//! CUDA_ERROR_NOT_SUPPORTED on the emulated device. The table stamps the [`Function`] enum and every
//! export, so a duplicate or a function without an emulation does not compile.
//!
//! What the brackets mean:
//! - `[]`: not recorded (it neither enqueues, waits nor changes what exists).
//! - `[fields: val a, out b]`: recorded with these arguments; `out` is what the pointer holds afterwards.
//! - `[words: path]`: recorded with the words that `path` puts for the arguments.
//! - `on stream;` in front: puts work on that stream, and is timed where a recording asks for it.

#![expect(clippy::too_many_arguments, reason = "the driver API's own signatures")]

use std::ffi::{CStr, c_char, c_void};

use crate::functions::LaunchConfig;
use crate::sys::*;

crate::exports::driver_api! {
    typed {
        // Initialisation and errors.
        [] cuInit(flags: u32) => device::init;
        [] cuDriverGetVersion(version: *mut i32) => device::driver_get_version;
        [] cuDeviceGet(device: *mut Device, ordinal: i32) => device::get;
        [] cuDeviceGetCount(count: *mut i32) => device::get_count;
        [] cuDeviceGetName(name: *mut c_char, length: i32, device: Device) => device::get_name;
        [] cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: Device) => device::get_attribute;
        [] cuDeviceTotalMem_v2(bytes: *mut usize, device: Device) => device::total_mem;
        [] cuDeviceGetUuid(uuid: *mut u8, device: Device) => device::get_uuid;
        [] cuDeviceGetUuid_v2(uuid: *mut u8, device: Device) => device::get_uuid;
        [] cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: Device) => device::compute_capability;
        [] cuDeviceGetDefaultMemPool(pool: *mut Handle, device: Device) => device::get_mem_pool;
        [] cuDeviceGetMemPool(pool: *mut Handle, device: Device) => device::get_mem_pool;
        // Contexts.
        [] cuDevicePrimaryCtxRetain(context: *mut Handle, device: Device) => context::primary_retain;
        [] cuDevicePrimaryCtxRelease_v2(device: Device) => context::primary_release;
        [] cuDevicePrimaryCtxReset_v2(device: Device) => context::primary_reset;
        [] cuDevicePrimaryCtxSetFlags_v2(device: Device, flags: u32) => context::primary_set_flags;
        [] cuDevicePrimaryCtxGetState(device: Device, flags: *mut u32, active: *mut i32) => context::primary_get_state;
        [] cuCtxCreate_v2(context: *mut Handle, flags: u32, device: Device) => context::create;
        [] cuCtxCreate_v3(context: *mut Handle, affinity: *mut c_void, count: i32, flags: u32, device: Device) => context::create_v3;
        [] cuCtxDestroy_v2(context: Handle) => context::destroy;
        [] cuCtxGetCurrent(context: *mut Handle) => context::get_current;
        [] cuCtxSetCurrent(context: Handle) => context::set_current;
        [] cuCtxPushCurrent_v2(context: Handle) => context::push_current;
        [] cuCtxPopCurrent_v2(context: *mut Handle) => context::pop_current;
        [] cuCtxGetDevice(device: *mut Device) => context::get_device;
        [] cuCtxGetFlags(flags: *mut u32) => context::get_flags;
        [] cuCtxGetId(context: Handle, id: *mut u64) => context::get_id;
        [] cuCtxGetApiVersion(context: Handle, version: *mut u32) => context::get_api_version;
        [] cuCtxGetLimit(value: *mut usize, limit: i32) => context::get_limit;
        [] cuCtxSetLimit(limit: i32, value: usize) => context::set_limit;
        [] cuCtxGetCacheConfig(config: *mut i32) => context::get_config;
        [] cuCtxSetCacheConfig(config: i32) => context::set_config;
        [] cuCtxGetSharedMemConfig(config: *mut i32) => context::get_config;
        [] cuCtxSetSharedMemConfig(config: i32) => context::set_config;
        [] cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) => context::get_stream_priority_range;
        [fields:] cuCtxSynchronize() => context::synchronize;
        // Streams.
        [fields: out stream, val flags] cuStreamCreate(stream: *mut Handle, flags: u32) => stream::create;
        [fields: out stream, val flags] cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) => stream::create_with_priority;
        [fields: val stream] cuStreamDestroy_v2(stream: Handle) => stream::destroy;
        [fields: val stream] cuStreamSynchronize(stream: Handle) => stream::synchronize;
        [fields: val stream] cuStreamQuery(stream: Handle) => stream::query;
        [fields: val stream, val event] cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) => stream::wait_event;
        [] cuStreamGetFlags(stream: Handle, flags: *mut u32) => stream::get_flags;
        [] cuStreamGetPriority(stream: Handle, priority: *mut i32) => stream::get_priority;
        [] cuStreamGetCtx(stream: Handle, context: *mut Handle) => stream::get_ctx;
        [] cuStreamGetId(stream: Handle, id: *mut u64) => stream::get_id;
        [] cuStreamIsCapturing(stream: Handle, status: *mut i32) => stream::is_capturing;
        [fields: val stream] cuStreamAddCallback(stream: Handle, callback: StreamCallback, data: *mut c_void, flags: u32) => stream::add_callback;
        [fields: val stream] cuLaunchHostFunc(stream: Handle, function: HostFn, data: *mut c_void) => stream::launch_host_func;
        // Events.
        [fields: out event, val flags] cuEventCreate(event: *mut Handle, flags: u32) => event::create;
        [fields: val event] cuEventDestroy_v2(event: Handle) => event::destroy;
        [fields: val event, val stream] cuEventRecord(event: Handle, stream: Handle) => event::record;
        [fields: val event, val stream] cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) => event::record_with_flags;
        [fields: val event] cuEventQuery(event: Handle) => event::query;
        [fields: val event] cuEventSynchronize(event: Handle) => event::synchronize;
        [fields: out milliseconds, val start, val end] cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) => event::elapsed_time;
        [fields: out milliseconds, val start, val end] cuEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) => event::elapsed_time;
        // Memory.
        [fields: out address, val bytes] cuMemAlloc_v2(address: *mut DevicePtr, bytes: usize) => memory::alloc;
        [fields: val address] cuMemFree_v2(address: DevicePtr) => memory::free;
        [fields: out address, val bytes, val stream] cuMemAllocAsync(address: *mut DevicePtr, bytes: usize, stream: Handle) => memory::alloc_async;
        [fields: out address, val bytes, val stream] cuMemAllocFromPoolAsync(address: *mut DevicePtr, bytes: usize, pool: Handle, stream: Handle) => memory::alloc_from_pool_async;
        [fields: val address, val stream] cuMemFreeAsync(address: DevicePtr, stream: Handle) => memory::free_async;
        [fields: out address, val bytes] cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: u32) => memory::host_alloc;
        [fields: out address, val bytes] cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) => memory::alloc_host;
        [fields: val address] cuMemFreeHost(address: *mut c_void) => memory::free_host;
        [fields: val address, val bytes] cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: u32) => memory::host_register;
        [fields: val address] cuMemHostUnregister(address: *mut c_void) => memory::host_unregister;
        [] cuMemHostGetDevicePointer_v2(device: *mut DevicePtr, host: *mut c_void, flags: u32) => memory::host_get_device_pointer;
        [] cuMemHostGetFlags(flags: *mut u32, host: *mut c_void) => memory::host_get_flags;
        [] cuMemGetInfo_v2(free: *mut usize, total: *mut usize) => memory::get_info;
        [] cuMemGetAddressRange_v2(base: *mut DevicePtr, size: *mut usize, address: DevicePtr) => memory::get_address_range;
        [] cuPointerGetAttribute(value: *mut c_void, attribute: i32, address: DevicePtr) => memory::pointer_get_attribute;
        [] cuMemPoolGetAttribute(pool: Handle, attribute: i32, value: *mut c_void) => memory::pool_get_attribute;
        [] cuMemPoolSetAttribute(pool: Handle, attribute: i32, value: *mut c_void) => memory::pool_set_attribute;
        [] cuMemPoolTrimTo(pool: Handle, keep: usize) => memory::pool_trim_to;
        // Copies.
        [fields: val target, val source, val bytes] cuMemcpy(target: DevicePtr, source: DevicePtr, bytes: usize) => copy::any;
        [on stream; fields: val target, val source, val bytes, val stream] cuMemcpyAsync(target: DevicePtr, source: DevicePtr, bytes: usize, stream: Handle) => copy::any_async;
        [fields: val target, val source, val bytes] cuMemcpyHtoD_v2(target: DevicePtr, source: *const c_void, bytes: usize) => copy::htod;
        [on stream; fields: val target, val source, val bytes, val stream] cuMemcpyHtoDAsync_v2(target: DevicePtr, source: *const c_void, bytes: usize, stream: Handle) => copy::htod_async;
        [fields: val target, val source, val bytes] cuMemcpyDtoH_v2(target: *mut c_void, source: DevicePtr, bytes: usize) => copy::dtoh;
        [on stream; fields: val target, val source, val bytes, val stream] cuMemcpyDtoHAsync_v2(target: *mut c_void, source: DevicePtr, bytes: usize, stream: Handle) => copy::dtoh_async;
        [fields: val target, val source, val bytes] cuMemcpyDtoD_v2(target: DevicePtr, source: DevicePtr, bytes: usize) => copy::dtod;
        [on stream; fields: val target, val source, val bytes, val stream] cuMemcpyDtoDAsync_v2(target: DevicePtr, source: DevicePtr, bytes: usize, stream: Handle) => copy::dtod_async;
        [fields: val target, val count] cuMemsetD8_v2(target: DevicePtr, value: u8, count: usize) => copy::memset_d8;
        [on stream; fields: val target, val count, val stream] cuMemsetD8Async(target: DevicePtr, value: u8, count: usize, stream: Handle) => copy::memset_d8_async;
        [fields: val target, val count] cuMemsetD16_v2(target: DevicePtr, value: u16, count: usize) => copy::memset_d16;
        [on stream; fields: val target, val count, val stream] cuMemsetD16Async(target: DevicePtr, value: u16, count: usize, stream: Handle) => copy::memset_d16_async;
        [fields: val target, val count] cuMemsetD32_v2(target: DevicePtr, value: u32, count: usize) => copy::memset_d32;
        [on stream; fields: val target, val count, val stream] cuMemsetD32Async(target: DevicePtr, value: u32, count: usize, stream: Handle) => copy::memset_d32_async;
        // Modules and functions.
        [words: functions::load_words] cuModuleLoad(module: *mut Handle, path: *const c_char) => module::load;
        [words: functions::load_data_words] cuModuleLoadData(module: *mut Handle, image: *const c_void) => module::load_data;
        [words: functions::load_data_ex_words] cuModuleLoadDataEx(module: *mut Handle, image: *const c_void, count: u32, options: *mut i32, values: *mut *mut c_void) => module::load_data_ex;
        [fields: val module] cuModuleUnload(module: Handle) => module::unload;
        [words: functions::get_function_words] cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) => module::get_function;
        [] cuModuleGetGlobal_v2(address: *mut DevicePtr, bytes: *mut usize, module: Handle, name: *const c_char) => module::get_global;
        [] cuFuncGetAttribute(value: *mut i32, attribute: i32, function: Handle) => module::func_get_attribute;
        [] cuFuncSetAttribute(function: Handle, attribute: i32, value: i32) => module::func_set_attribute;
        [] cuFuncSetCacheConfig(function: Handle, config: i32) => module::func_set_config;
        [] cuFuncSetSharedMemConfig(function: Handle, config: i32) => module::func_set_config;
        [] cuFuncGetModule(module: *mut Handle, function: Handle) => module::func_get_module;
        [] cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: Handle, block_size: i32, shared: usize) => module::occupancy;
        [] cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, function: Handle, block_size: i32, shared: usize, flags: u32) => module::occupancy_with_flags;
        [] cuOccupancyMaxPotentialBlockSize(grid: *mut i32, block: *mut i32, function: Handle, shared_of: *const c_void, shared: usize, limit: i32) => module::potential_block_size;
        [] cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut i32, block: *mut i32, function: Handle, shared_of: *const c_void, shared: usize, limit: i32, flags: u32) => module::potential_block_size_with_flags;
        // Launches.
        [on stream; words: functions::launch_words] cuLaunchKernel(function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32, stream: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) => module::launch;
        [on stream; words: functions::launch_cooperative_words] cuLaunchCooperativeKernel(function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32, stream: Handle, params: *mut *mut c_void) => module::launch_cooperative;
        [words: functions::launch_ex_words] cuLaunchKernelEx(config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) => module::launch_ex;
    }
    own {
        cuGetErrorName, cuGetErrorString, cuGetProcAddress, cuGetProcAddress_v2
    }
    bare {
        cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayCreate_v2, cuArrayDestroy,
        cuArrayGetDescriptor_v2, cuArrayGetMemoryRequirements, cuArrayGetPlane,
        cuArrayGetSparseProperties, cuCoredumpDeregisterCompleteCallback,
        cuCoredumpDeregisterStartCallback, cuCoredumpGetAttribute, cuCoredumpGetAttributeGlobal,
        cuCoredumpRegisterCompleteCallback, cuCoredumpRegisterStartCallback,
        cuCoredumpSetAttribute, cuCoredumpSetAttributeGlobal, cuCtxAttach, cuCtxCreate_v4,
        cuCtxDetach, cuCtxDisablePeerAccess, cuCtxEnablePeerAccess, cuCtxFromGreenCtx,
        cuCtxGetDevResource, cuCtxGetDevice_v2, cuCtxGetExecAffinity, cuCtxRecordEvent,
        cuCtxResetPersistingL2Cache, cuCtxSetFlags, cuCtxSynchronize_v2, cuCtxWaitEvent,
        cuDestroyExternalMemory, cuDestroyExternalSemaphore, cuDevResourceGenerateDesc,
        cuDevSmResourceSplit, cuDevSmResourceSplitByCount, cuDeviceCanAccessPeer,
        cuDeviceGetByPCIBusId, cuDeviceGetCliqueCount, cuDeviceGetCliqueInfo,
        cuDeviceGetDevResource, cuDeviceGetExecAffinitySupport, cuDeviceGetFabricClusterUuid,
        cuDeviceGetGraphMemAttribute, cuDeviceGetHostAtomicCapabilities, cuDeviceGetLuid,
        cuDeviceGetNvSciSyncAttributes, cuDeviceGetP2PAtomicCapabilities, cuDeviceGetP2PAttribute,
        cuDeviceGetPCIBusId, cuDeviceGetProperties, cuDeviceGetTexture1DLinearMaxWidth,
        cuDeviceGraphMemTrim, cuDeviceRegisterAsyncNotification, cuDeviceSetGraphMemAttribute,
        cuDeviceSetMemPool, cuDeviceUnregisterAsyncNotification, cuExternalMemoryGetMappedBuffer,
        cuExternalMemoryGetMappedMipmappedArray, cuFlushGPUDirectRDMAWrites, cuFuncGetName,
        cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncIsLoaded, cuFuncLoad, cuFuncSetBlockShape,
        cuFuncSetSharedSize, cuGetExportTable, cuGraphAddBatchMemOpNode, cuGraphAddChildGraphNode,
        cuGraphAddDependencies, cuGraphAddDependencies_v2, cuGraphAddEmptyNode,
        cuGraphAddEventRecordNode, cuGraphAddEventWaitNode, cuGraphAddExternalSemaphoresSignalNode,
        cuGraphAddExternalSemaphoresWaitNode, cuGraphAddHostNode, cuGraphAddKernelNode,
        cuGraphAddKernelNode_v2, cuGraphAddMemAllocNode, cuGraphAddMemFreeNode,
        cuGraphAddMemcpyNode, cuGraphAddMemsetNode, cuGraphAddNode, cuGraphAddNode_v2,
        cuGraphAddNode_v3, cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeSetParams,
        cuGraphChildGraphNodeGetGraph, cuGraphClone, cuGraphConditionalHandleCreate, cuGraphCreate,
        cuGraphDebugDotPrint, cuGraphDestroy, cuGraphDestroyNode, cuGraphEventRecordNodeGetEvent,
        cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeSetEvent,
        cuGraphExecBatchMemOpNodeSetParams, cuGraphExecChildGraphNodeSetParams, cuGraphExecDestroy,
        cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
        cuGraphExecExternalSemaphoresSignalNodeSetParams,
        cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecGetFlags, cuGraphExecGetId,
        cuGraphExecHostNodeSetParams, cuGraphExecKernelNodeSetParams,
        cuGraphExecKernelNodeSetParams_v2, cuGraphExecMemcpyNodeSetParams,
        cuGraphExecMemsetNodeSetParams, cuGraphExecNodeSetParams, cuGraphExecUpdate,
        cuGraphExecUpdate_v2, cuGraphExternalSemaphoresSignalNodeGetParams,
        cuGraphExternalSemaphoresSignalNodeSetParams, cuGraphExternalSemaphoresWaitNodeGetParams,
        cuGraphExternalSemaphoresWaitNodeSetParams, cuGraphGetEdges, cuGraphGetEdges_v2,
        cuGraphGetId, cuGraphGetNodes, cuGraphGetRootNodes, cuGraphHostNodeGetParams,
        cuGraphHostNodeSetParams, cuGraphInstantiateWithFlags, cuGraphInstantiateWithParams,
        cuGraphInstantiate_v2, cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeGetAttribute,
        cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetAttribute,
        cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, cuGraphLaunch,
        cuGraphMemAllocNodeGetParams, cuGraphMemFreeNodeGetParams, cuGraphMemcpyNodeGetParams,
        cuGraphMemcpyNodeSetParams, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams,
        cuGraphNodeFindInClone, cuGraphNodeGetContainingGraph, cuGraphNodeGetDependencies,
        cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes,
        cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetEnabled, cuGraphNodeGetLocalId,
        cuGraphNodeGetParams, cuGraphNodeGetToolsId, cuGraphNodeGetType, cuGraphNodeSetEnabled,
        cuGraphNodeSetParams, cuGraphNodeSetParams_v2, cuGraphReleaseUserObject,
        cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2, cuGraphRetainUserObject,
        cuGraphUpload, cuGraphicsMapResources, cuGraphicsResourceGetMappedMipmappedArray,
        cuGraphicsResourceGetMappedPointer_v2, cuGraphicsResourceSetMapFlags_v2,
        cuGraphicsSubResourceGetMappedArray, cuGraphicsUnmapResources,
        cuGraphicsUnregisterResource, cuGreenCtxCreate, cuGreenCtxDestroy,
        cuGreenCtxGetDevResource, cuGreenCtxGetId, cuGreenCtxRecordEvent, cuGreenCtxStreamCreate,
        cuGreenCtxWaitEvent, cuImportExternalMemory, cuImportExternalSemaphore,
        cuIpcCloseMemHandle, cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle,
        cuIpcOpenMemHandle_v2, cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary,
        cuKernelGetName, cuKernelGetParamCount, cuKernelGetParamInfo, cuKernelSetAttribute,
        cuKernelSetCacheConfig, cuLaunch, cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid,
        cuLaunchGridAsync, cuLaunchHostFunc_v2, cuLibraryEnumerateKernels, cuLibraryGetGlobal,
        cuLibraryGetKernel, cuLibraryGetKernelCount, cuLibraryGetManaged, cuLibraryGetModule,
        cuLibraryGetUnifiedFunction, cuLibraryLoadData, cuLibraryLoadFromFile, cuLibraryUnload,
        cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy,
        cuLogicalEndpointAddDevice, cuLogicalEndpointBindAddr, cuLogicalEndpointBindMem,
        cuLogicalEndpointCreate, cuLogicalEndpointDestroy, cuLogicalEndpointExport,
        cuLogicalEndpointGetLimits, cuLogicalEndpointIdRelease, cuLogicalEndpointIdReserve,
        cuLogicalEndpointImport, cuLogicalEndpointQuery, cuLogicalEndpointUnbind, cuLogsCurrent,
        cuLogsDumpToFile, cuLogsDumpToMemory, cuLogsRegisterCallback, cuLogsUnregisterCallback,
        cuMemAddressFree, cuMemAddressReserve, cuMemAdvise, cuMemAdvise_v2, cuMemAllocManaged,
        cuMemAllocPitch_v2, cuMemBatchDecompressAsync, cuMemCreate,
        cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardBatchAsync, cuMemExportToShareableHandle,
        cuMemGetAccess, cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle,
        cuMemGetDefaultMemPool, cuMemGetHandleForAddressRange, cuMemGetLocationInfo,
        cuMemGetMemPool, cuMemImportFromShareableHandle, cuMemMap, cuMemMapArrayAsync,
        cuMemPoolCreate, cuMemPoolDestroy, cuMemPoolExportPointer,
        cuMemPoolExportToShareableHandle, cuMemPoolGetAccess, cuMemPoolImportFromShareableHandle,
        cuMemPoolImportPointer, cuMemPoolSetAccess, cuMemPrefetchAsync, cuMemPrefetchAsync_v2,
        cuMemPrefetchBatchAsync, cuMemRangeGetAttribute, cuMemRangeGetAttributes, cuMemRelease,
        cuMemRetainAllocationHandle, cuMemSetAccess, cuMemSetMemPool, cuMemUnmap,
        cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2, cuMemcpy3DAsync_v2,
        cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, cuMemcpy3DPeer, cuMemcpy3DPeerAsync,
        cuMemcpy3DWithAttributesAsync, cuMemcpy3D_v2, cuMemcpyAtoA_v2, cuMemcpyAtoD_v2,
        cuMemcpyAtoHAsync_v2, cuMemcpyAtoH_v2, cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2,
        cuMemcpyDtoA_v2, cuMemcpyHtoAAsync_v2, cuMemcpyHtoA_v2, cuMemcpyPeer, cuMemcpyPeerAsync,
        cuMemcpyWithAttributesAsync, cuMemsetD2D16Async, cuMemsetD2D16_v2, cuMemsetD2D32Async,
        cuMemsetD2D32_v2, cuMemsetD2D8Async, cuMemsetD2D8_v2, cuMipmappedArrayCreate,
        cuMipmappedArrayDestroy, cuMipmappedArrayGetLevel, cuMipmappedArrayGetMemoryRequirements,
        cuMipmappedArrayGetSparseProperties, cuModuleEnumerateFunctions, cuModuleGetFunctionCount,
        cuModuleGetLoadingMode, cuModuleGetSurfRef, cuModuleGetTexRef, cuModuleLoadFatBinary,
        cuMulticastAddDevice, cuMulticastBindAddr, cuMulticastBindAddr_v2, cuMulticastBindMem,
        cuMulticastBindMem_v2, cuMulticastCreate, cuMulticastGetGranularity, cuMulticastUnbind,
        cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveClusters,
        cuOccupancyMaxPotentialClusterSize, cuParamSetSize, cuParamSetTexRef, cuParamSetf,
        cuParamSeti, cuParamSetv, cuPointerGetAttributes, cuPointerSetAttribute,
        cuProfilerInitialize, cuProfilerStart, cuProfilerStop, cuSignalExternalSemaphoresAsync,
        cuStreamAttachMemAsync, cuStreamBatchMemOp, cuStreamBatchMemOp_v2,
        cuStreamBeginCaptureToCig, cuStreamBeginCaptureToGraph, cuStreamBeginCapture_v2,
        cuStreamBeginRecaptureToGraph, cuStreamCopyAttributes, cuStreamEndCapture,
        cuStreamEndCaptureToCig, cuStreamGetAttribute, cuStreamGetCaptureInfo,
        cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v3, cuStreamGetCtx_v2,
        cuStreamGetDevResource, cuStreamGetDevice, cuStreamGetGreenCtx, cuStreamSetAttribute,
        cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2,
        cuStreamWaitValue32, cuStreamWaitValue32_v2, cuStreamWaitValue64, cuStreamWaitValue64_v2,
        cuStreamWriteValue32, cuStreamWriteValue32_v2, cuStreamWriteValue64,
        cuStreamWriteValue64_v2, cuSurfObjectCreate, cuSurfObjectDestroy,
        cuSurfObjectGetResourceDesc, cuSurfRefGetArray, cuSurfRefSetArray, cuTensorMapEncodeIm2col,
        cuTensorMapEncodeIm2colWide, cuTensorMapEncodeTiled, cuTensorMapReplaceAddress,
        cuTexObjectCreate, cuTexObjectDestroy, cuTexObjectGetResourceDesc,
        cuTexObjectGetResourceViewDesc, cuTexObjectGetTextureDesc, cuTexRefCreate, cuTexRefDestroy,
        cuTexRefGetAddressMode, cuTexRefGetAddress_v2, cuTexRefGetArray, cuTexRefGetBorderColor,
        cuTexRefGetFilterMode, cuTexRefGetFlags, cuTexRefGetFormat, cuTexRefGetMaxAnisotropy,
        cuTexRefGetMipmapFilterMode, cuTexRefGetMipmapLevelBias, cuTexRefGetMipmapLevelClamp,
        cuTexRefGetMipmappedArray, cuTexRefSetAddress2D_v3, cuTexRefSetAddressMode,
        cuTexRefSetAddress_v2, cuTexRefSetArray, cuTexRefSetBorderColor, cuTexRefSetFilterMode,
        cuTexRefSetFlags, cuTexRefSetFormat, cuTexRefSetMaxAnisotropy, cuTexRefSetMipmapFilterMode,
        cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmappedArray,
        cuThreadExchangeStreamCaptureMode, cuUserObjectCreate, cuUserObjectRelease,
        cuUserObjectRetain, cuWaitExternalSemaphoresAsync
    }
}
