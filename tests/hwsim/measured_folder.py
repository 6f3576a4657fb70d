"""A made-up folder of measurements with the columns of the public collections, a few rows each."""

from __future__ import annotations

import gzip
from pathlib import Path

CONV = "block_size_x,block_size_y,tile_size_x,tile_size_y,read_only,use_padding,use_shmem,status,"
CONV += "median_ms,mean_ms,min_ms,std_ms,first_ms,n_runs,grid_x,grid_y,threads,smem_bytes,filter"
ONE = "32,4,2,2,0,0,1,ok,1,1,1,0,1,32,64,512,128,0,15"
GEMM = "MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB,median_ms,min_ms"
NEUSIGHT = "device,op,split,B,M,N,K,dtype,latency_ms,kernel_name,tile_m,tile_n,family,block,split_k"
TILING = "case,chip,M,N,K,dtype_a,trans_a,trans_b,split_m,split_n,single_core_m,single_core_n,"
TILING += "base_m,base_n,base_k,step_ka,step_kb,depth_a1,depth_b1,l2_split_m,task_us,mac_us"
EXPERIMENT = "problem,chip,M,N,K,a_layout,b_layout,dtype_in,dtype_acc,dtype_out,TM,TN,TK,RB,"
EXPERIMENT += "output_tasks,launch_tasks,launch_type,async_double_buffer,split_k,b_prepacked,"
EXPERIMENT += "time_us_best,note"
MATMUL = "022,MLU370-X4,1024,2048,4096,row,B^T given,fp16,fp32,fp32"
LADDER = "chip,clock_mhz,technique,M,K_reduction,N_out,dtype,m_per_loop,loops,blocks,launch_type,"
LADDER += "buffers,mlu_ms,source,note"
TOPHUB = "device,task,data_shape,weight_shape,dtype,other_args,time_s,tile_f,tile_y,tile_x,tile_rc,"
TOPHUB += "tile_rx,tile_ry,auto_unroll_max_step,tile_k"

FILES: dict[str, list[str]] = {
    "gpu/validation/bh_conv_A100.csv.gz": [
        CONV,
        "32,4,2,2,0,0,1,ok,1.5,1.5,1.4,0,1,32,64,512,128,0,15",
        "16,8,1,1,0,0,1,ok,2.5,2.5,2.4,0,1,32,256,512,128,0,15",
        "16,16,1,1,0,0,0,ok,3.5,3.5,3.4,0,1,32,256,256,256,0,15",
        "128,8,2,8,0,0,1,compile_failed,,,,,,,16,64,1024,0,15",
        "16,64,1,1,0,0,0,runtime_failed,,,,,,,256,64,1024,0,15",
        "16,64,x,1,0,0,0,ok,1,1,1,1,1,32,256,64,1024,0,15",
    ],
    "gpu/validation/bh_convold_RTX_3090.csv": [
        CONV.replace(",use_shmem", "").replace(",filter", ""),
        "32,4,2,2,0,0,ok,1.5,1.5,1.4,0,1,10,64,512,128,0",
    ],
    "gpu/validation/bh_conv_MI250X.csv": [CONV, ONE],
    "gpu/validation/bh_conv_mlu370-x4.csv": [CONV, ONE],
    "gpu/validation/bh_gemm_fp32_1024_my-gpu.csv": [
        GEMM,
        "64,64,32,8,8,8,8,2,1,1,0,0,1,1,0.4,0.39",
        "128,128,32,16,16,16,16,2,4,4,0,0,1,1,0.3,0.29",
        "16,16,32,8,8,8,8,2,1,1,0,0,0,0,1.0,0.9",
    ],
    "gpu/validation/bh_dedisp_A100.csv": [
        "block_size_x,block_size_y,tile_size_x,tile_size_y,tile_stride_x,tile_stride_y,median_ms",
        "32,8,1,1,0,0,120",
        "128,4,2,2,1,0,90",
        "256,1,4,1,0,1,100",
    ],
    "gpu/calibration/ktt_conv_3090.csv": [
        "block_size_x,block_size_y,tile_size_x,tile_size_y,padding,read_only,status,duration_us,"
        "registers,smem_bytes,private_bytes",
        "32,4,2,2,0,0,ok,900,40,6000,0",
        "32,4,4,4,0,0,ok,700,80,9000,16",
        "128,8,4,8,0,0,failed,,,,",
    ],
    "gpu/validation/neusight_linear.csv": [
        NEUSIGHT,
        "H100,linear,test,1,4096,4096,4096,fp32,3.5,xmma_gemm,128,128,xmma,256,1",
        "L4,linear,test,1,512,512,512,fp32,0.08,ampere_sgemm_32x32_sliced1x4_tn,32,32,sgemm,128,1",
        "TPU,linear,test,1,512,512,512,fp32,0.08,x,32,32,sgemm,128,1",
        "L4,linear,test,1,512,512,512,fp32,,x,32,32,sgemm,128,1",
    ],
    "gpu/validation/neusight_vec.csv": [
        "device,op,split,rows,cols,dtype,latency_ms,kernel_name,block_x,block_y",
        "V100-PCIE-32GB,softmax,train,4096,4096,fp32,0.3,cunn_SoftMaxForward,512,1",
        "V100-PCIE-32GB,ln,train,4096,4096,fp32,0.3,vectorized_layer_norm_kernel,32,4",
        "V100-PCIE-32GB,add,train,4096,4096,fp32,0.3,vectorized_elementwise_kernel,128,1",
        "V100-PCIE-32GB,gather,train,4096,4096,fp32,0.3,other,128,1",
    ],
    "gpu/validation/neusight_h100_fp16_bmm.csv": [
        "B,M,N,K,dtype,latency_ms,neusight_pred_ms,rel_err",
        "8,1024,1024,1024,fp16,0.06,0.05,0.1",
    ],
    "gpu/validation/llmcompass_measured.csv": [
        "device,op,dtype,M,N,K,latency_ms,tflops,gelem_per_s,min_dram_gbps",
        "A100,matmul,fp16,4096,4096,4096,0.6,,,",
        "A100,gelu,fp16,1048576,,,0.05,,,",
        "MI210,softmax,fp16,4096,4096,,0.1,,,",
    ],
    "gpu/validation/deepbench_gemm.csv": [
        "device,suite,m,n,k,trans_a,trans_b,dtype,time_us",
        "V100,train,1760,128,1760,N,N,fp32,100",
        "V100,train,1760,7133,1760,N,N,fp16_tensorcore_fp32acc,600",
        "P100,train,1760,128,1760,N,N,fp32,150",
        "V100,train,1760,128,1760,N,N,fp4,100",
    ],
    "gpu/validation/tophub_cuda_1080ti.csv": [
        TOPHUB,
        '1080ti,conv2d_nchw.cuda,"[1, 64, 56, 56]","[64, 64, 3, 3]",float32,'
        '"[[1, 1], [1, 1, 1, 1], [1, 1], ""float32""]",0.0001,"[-1, 1, 8, 4]","[-1, 1, 7, 1]",'
        '"[-1, 1, 14, 1]","[-1, 8]","[-1, 3]","[-1, 3]",512,',
        '1080ti,batch_matmul.cuda,"[8, 128, 64]","[8, 128, 64]",float32,[],0.00002,,'
        '"[-1, 16, 4]","[-1, 16, 4]",,,,64,"[-1, 8]"',
        '1080ti,conv2d_nchw_winograd.cuda,"[1, 64, 56, 56]","[64, 64, 3, 3]",float32,[],0.0001,,'
        ",,,,,512,",
        '1080ti,conv2d_nchw.cuda,"[1, 64",,float32,[],0.0001,,,,,,,512,',
    ],
    "gpu/calibration/neusight_error.csv": ["predictor,split,op,mean_abs_pct_error", "a,b,c,1"],
    "gpu/validation/narrow.csv": [
        "device,op,B,M,N,K,latency_ms,tile_m,tile_n,block,family",
        "T4,linear,1,512,512,512,0.2,64,64,64,sgemm",
    ],
    "gpu/validation/broken.csv": ['a,b\n"unclosed'],
    "ascend/validation/matmul_tiling_910b1.csv": [
        TILING,
        "0,Ascend910B1,2048,2048,2048,fp16,0,1,4,6,512,352,128,256,64,4,4,8,8,1,150,70",
        "1,Ascend910B1,2048,2048,2048,fp16,0,1,4,6,512,352,64,64,64,1,1,1,1,1,900,200",
        "2,Ascend910B1,2048,2048,2048,fp16,0,1,4,6,512,352,128,128,64,2,2,4,4,1,300,100",
        "3,Ascend310P,2048,2048,2048,fp16,0,1,4,6,512,352,128,128,64,2,2,4,4,1,300,100",
    ],
    "ascend/validation/matmul_gelu_a2.csv": [
        "scenario,chip,M,N,K,base_m,base_n,base_k,task_us",
        "matmul_only,AtlasA2_24core,8192,8192,8192,128,256,64,4200",
        "gelu_only,AtlasA2_24core,8192,8192,8192,128,256,64,500",
        "fused,AtlasA2_24core,8192,8192,8192,128,256,64,4300",
    ],
    "ascend/validation/quant_group_matmul_a2.csv": [
        "scenario,chip,M,N,K,total_us",
        "0,AtlasA2,8192,8192,1024,1500",
        "1,AtlasA2,8192,8192,1024,1000",
        "2,AtlasA2,8192,8192,1024,600",
    ],
    "mlu/validation/tile_experiments.csv": [
        EXPERIMENT,
        f"{MATMUL},64,256,128,4,32,32,Block,0,1,0,1300,",
        f"{MATMUL},128,256,128,2,32,32,Block,0,1,0,950,",
        f"{MATMUL},64,128,128,4,64,32,Block,0,1,0,2000,",
        f"{MATMUL},,,,,,,,,,,2000,",
    ],
    "mlu/validation/bang_ladder.csv": [
        LADDER,
        'MLU370-X8,1300,bang_matmul,524288,256,128,fp32,128,32,128,Block,1,3.7,log, one,"x"',
        "MLU370-X4,1000,scalar,128,256,128,fp32,,,,Block,1,3000,log,",
    ],
}  # fmt: skip


def write_folder(root: Path, only: str = "") -> Path:
    """Write the files whose path contains ``only`` under ``root``."""
    for name, lines in FILES.items():
        if only not in name:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return root
